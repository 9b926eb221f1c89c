"""Every reproduction from end to end, with a tiny random model and a dozen examples."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from reproduce_tiny import prepare, setting, wanted

from holdfast.errors import InputError, RunFailed
from holdfast.record import find_records, read_record, write_record
from holdfast.reproduce import REPRODUCTIONS, Shard, find_setting, reproduce, result_of, run_again
from holdfast.reproduce import run as running
from holdfast.reproduce.samples import letters


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """One folder for all: tables that share cells train them once."""
    return prepare(tmp_path_factory.mktemp("reproduce"))


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    """Leave out the report's pictures, which take most of the time; one test makes them."""
    made = []
    module = __import__("holdfast.reproduce.reproduce", fromlist=["write_report"])
    whole = module.write_report
    monkeypatch.setattr(module, "write_report", lambda *a, **k: made.append((whole, a, k)))
    return made


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_it_runs_and_every_planned_number_is_there(name, place, no_page):
    recipe = REPRODUCTIONS[name]
    vectors = place / "data" / "substitutions" / "vectors.txt" if recipe.needs_vectors else None
    result = reproduce(recipe, setting(place, vectors=vectors))
    assert not result.failed
    planned = [entry for grid in result.grids for entry in grid.entries if entry.planned]
    assert planned
    assert not {(entry.row, entry.column) for entry in planned if entry.missing}
    assert result.missing == 0
    page = (place / "out" / name / "reproduction.md").read_text()
    assert recipe.published.title in page
    assert "mean nothing" in page
    assert recipe.protocol.split("\n")[0] in page
    assert len(no_page) == 1


def numbers(name, place, row, column):
    result = result_of(REPRODUCTIONS[name], setting(place))
    found = [grid.at(row, column) for grid in result.grids]
    return next(entry for entry in found if entry is not None)


def test_published_and_measured_stand_side_by_side(place):
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    entry = numbers("imbert-table3", place, "Layer (4-6)", "All")
    assert entry.published.value == 41.2
    assert entry.measured.examples == 4
    assert entry.measured.low < entry.measured.value < entry.measured.high
    flops = numbers("imbert-table3", place, "IM-BERT", "FLOPs")
    plain = numbers("imbert-table3", place, "BERT", "FLOPs")
    assert flops.measured.value == pytest.approx(6 * plain.measured.value)
    page = (place / "out" / "imbert-table3" / "reproduction.md").read_text()
    assert "| BERT | published | 30.1 ±8.8 |" in page
    assert "| counted" in page


def test_the_sample_is_what_the_protocol_names(place):
    """RIFT's attacks read the covered test examples, TextFooler's its own reviews."""
    reproduce(REPRODUCTIONS["rift-table1"], setting(place))
    covered = place / "out" / "samples" / "covered" / "imdb" / "test.jsonl"
    rows = [json.loads(line) for line in covered.read_text().splitlines()]
    allowed = json.loads(
        (place / "data" / "substitutions" / "imdb_test_lm_filtered.json").read_text()
    )
    assert {letters(row["text"]) for row in rows} == {letters(text) for text in allowed}
    record = read_record(next((place / "out").glob("records/RIFT/0/imdb/genetic_jia-0.json")))
    assert record.config["reading"]["data"] == str(covered.parents[1])
    assert record.training["substitutions"]["mode"] == "word_level"
    assert record.config["material"]["allowed_sets"].endswith("imdb_test_lm_filtered.json")


def test_a_finished_cell_is_not_run_again(place, monkeypatch):
    recipe = REPRODUCTIONS["rift-figure2"]
    reproduce(recipe, setting(place))
    monkeypatch.setattr(running, "fine_tune", lambda *a, **k: pytest.fail("trained again"))
    monkeypatch.setattr(running, "evaluate", lambda *a, **k: pytest.fail("measured again"))
    again = reproduce(recipe, setting(place))
    assert again.missing == 0


def test_what_was_measured_of_a_model_that_is_gone_is_measured_again(tmp_path, place):
    """The next training need not make the same model, and records of two must not be mixed."""
    at = setting(place, output=tmp_path / "out")
    workshop, cell = running.Workshop(at), REPRODUCTIONS["imbert-table3"].cells(at)[0]

    def written() -> dict[Path, int]:
        assert workshop.run([cell]) == []
        return {path: path.stat().st_mtime_ns for path in workshop.records.rglob("*.json")}

    before = written()
    assert {"advglue", "cost"} <= {path.parent.name for path in before}
    shutil.rmtree(workshop.place(cell) / "run")
    (workshop.place(cell) / "done.json").unlink()
    after = written()
    assert before.keys() == after.keys()
    assert all(after[path] > before[path] for path in before)


def test_a_table_whose_model_another_had_to_train_again_is_not_done(tmp_path, place):
    at = setting(place, output=tmp_path / "out")
    workshop = running.Workshop(at, keep_models=False)
    first = REPRODUCTIONS["imbert-table3"].cells(at)[0]
    other = dataclasses.replace(first, measure=dataclasses.replace(first.measure, attacks=()))
    assert workshop.run([first]) == []
    assert running.is_done(at, first)
    assert list(workshop.records.rglob("pwws*"))
    assert workshop.run([other]) == []
    assert not running.is_done(at, first)
    assert not list(workshop.records.rglob("pwws*"))


def test_a_shard_leaves_the_rest_missing_and_says_so(tmp_path, place):
    recipe, at = REPRODUCTIONS["rift-figure2"], setting(place, output=tmp_path / "half")
    first = reproduce(recipe, at, shard=Shard(1, 4))
    assert (first.done, first.missing) == (1, 4)  # two methods of (a), two betas of (b)
    assert "rows are not complete" in (tmp_path / "half/rift-figure2/reproduction.md").read_text()
    assert len(list((tmp_path / "half" / "cells").iterdir())) == 1
    for index in (2, 3, 4):
        last = reproduce(recipe, at, shard=Shard(index, 4))
    assert last.missing == 0


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path, place, monkeypatch):
    real = running.fine_tune

    def fails_once(config, **settings):
        if type(config.objective).__name__ == "Rift":
            raise RunFailed("The loss is not a number.")
        return real(config, **settings)

    monkeypatch.setattr(running, "fine_tune", fails_once)
    at = setting(place, output=tmp_path / "out")
    result = reproduce(REPRODUCTIONS["rift-figure2"], at)
    assert result.failed == ("RIFT, imdb, seed 0 failed: The loss is not a number.",)
    assert result.missing == 1
    assert "not a number" in (tmp_path / "out/rift-figure2/reproduction.md").read_text()


def test_an_output_folder_is_of_one_setting(place):
    reproduce(REPRODUCTIONS["imbert-propositions"], setting(place))
    other = dataclasses.replace(setting(place), reading="aligned")
    with pytest.raises(InputError, match=r"reading word_level.*aligned.*another output"):
        reproduce(REPRODUCTIONS["imbert-propositions"], other)
    longer = dataclasses.replace(setting(place).budget, epochs=2.0)
    with pytest.raises(InputError, match=r"budget.epochs 1, and now it is 2.0"):
        reproduce(REPRODUCTIONS["imbert-propositions"], setting(place, budget=longer))


def test_the_features_are_in_the_record(place):
    reproduce(REPRODUCTIONS["rift-figure3"], setting(place))
    record = read_record(place / "out" / "records" / "Informative" / "0" / "features.json")
    clouds = [series for series in record.series if series.name == "features"]
    assert [cloud.group for cloud in clouds] == ["negative", "positive"]
    assert sum(len(cloud.x) for cloud in clouds) == 12
    assert 0 <= record.metric("neighbour_agreement").value <= 1


def test_the_report_is_made_of_the_same_records(place, no_page):
    """The page itself, once, with the published numbers in it."""
    reproduce(REPRODUCTIONS["imbert-table6"], setting(place))
    whole, arguments, named = no_page[-1]
    whole(*arguments, **named)
    page = (place / "out" / "imbert-table6" / "report.html").read_text()
    assert "IM-BERT, Table 6" in page
    assert "41.2" in page


def test_the_demos_sentences_stand_in_for_a_data_folder(tmp_path, place):
    """Without --data a small budget reads them, and says so; pairs are left to the Hub."""
    asked = wanted(place, data=None, output=tmp_path / "demo")
    found = find_setting(asked)
    assert found.demo
    assert found.data == tmp_path / "demo" / "data"
    assert not find_setting(asked, pairs=True).demo
    result = reproduce(REPRODUCTIONS["imbert-propositions"], found)
    assert any("Rotten Tomatoes" in sentence for sentence in result.differences)
    assert (tmp_path / "demo" / "data" / "sst2" / "validation.jsonl").is_file()


def test_differences_are_told(place):
    result = result_of(REPRODUCTIONS["rift-table1"], setting(place))
    told = " ".join(result.differences)
    assert "2 layers of width 16" in told
    assert "trained on 24 of the 25,000 examples" in told
    assert "epochs 1 instead of 20" in told
    assert "inner steps 1 instead of 10" in told
    assert "4 examples are attacked" in told
    assert "no spread over seeds" in told
    assert "language model" not in told  # the data folder has the filtered sets
    aligned = dataclasses.replace(setting(place), reading="aligned", allowed={}, lexicon=None)
    told = " ".join(result_of(REPRODUCTIONS["rift-table1"], aligned).differences)
    assert "stronger than the paper's" in told
    assert "every word one token" in told
    assert "WordNet" in told


def test_a_record_is_run_again_and_lands_in_its_interval(place, tmp_path):
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    folder = place / "out" / "records" / "BERT" / "0"
    asked = wanted(place, output=tmp_path, model=None, data=None)
    for file in ("clean-0.json", "pwws_rift-0.json", "training.json", "../advglue/sst2.json"):
        again = run_again(folder / "sst2" / file, asked)
        assert again.holds
        assert "accuracy" in {one.before.name for one in again.compared}
        for one in again.compared:
            assert one.now == pytest.approx(one.before.value), (file, one.before.name)
    assert len(list((tmp_path / "again").glob("*/run.json"))) == 1  # trained once for all of them


@pytest.mark.parametrize("certify", [True, False])
def test_answers_are_proved_again_only_where_they_were(certify, place, tmp_path, monkeypatch):
    """Or the number of queries would be another one: a proof takes as many as it reads."""
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    record = read_record(place / "out/records/BERT/0/sst2/pwws_rift-0.json")
    asked = dataclasses.replace(record, config={**record.config, "certify": certify})
    file = write_record(asked, tmp_path / "asked.json")
    suites = []

    def evaluate(checkpoint, suite, out):
        suites.append(suite)
        return [record]

    monkeypatch.setattr("holdfast.reproduce.again.evaluate", evaluate)
    run_again(file, wanted(place, output=tmp_path, model=None, data=None))
    assert [suite.certify for suite in suites] == [certify]


def test_files_that_other_attacks_of_its_suite_read_do_not_stop_a_record(place, tmp_path):
    """A record names all files of its suite; pwws_rift has no use for WordNet."""
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    record = read_record(place / "out/records/BERT/0/sst2/pwws_rift-0.json")
    material = {**record.config["material"], "wordnet": str(tmp_path / "gone")}
    config = {**record.config, "material": material}
    file = write_record(dataclasses.replace(record, config=config), tmp_path / "beside.json")
    again = run_again(file, wanted(place, output=tmp_path, model=None, data=None))
    assert again.holds


def test_a_sample_that_is_gone_is_written_again_from_the_data_of_the_training(place, tmp_path):
    """It lay in the output of the run, which nobody publishes."""
    reproduce(REPRODUCTIONS["rift-table1"], setting(place))
    record = read_record(place / "out" / "records" / "Standard" / "0" / "imdb" / "pwws_rift-0.json")
    reading = {**record.config["reading"], "data": str(tmp_path / "gone" / "samples" / "covered")}
    assert reading["data"].endswith("/".join(Path(record.config["reading"]["data"]).parts[-2:]))
    config = {**record.config, "reading": reading}
    file = write_record(dataclasses.replace(record, config=config), tmp_path / "moved.json")
    again = run_again(file, wanted(place, output=tmp_path, model=None, data=None))
    assert again.holds
    for one in again.compared:
        assert one.now == pytest.approx(one.before.value), one.before.name


def test_a_record_that_was_tampered_with_is_found_out(place, tmp_path):
    reproduce(REPRODUCTIONS["rift-figure3"], setting(place))
    file = place / "out" / "records" / "Standard" / "0" / "features.json"
    record = read_record(file)
    wrong = dataclasses.replace(record.metrics[0], low=1.5, high=1.6)
    write_record(dataclasses.replace(record, metrics=(wrong,)), tmp_path / "wrong.json")
    again = run_again(tmp_path / "wrong.json", wanted(place, output=tmp_path / "o", model=None))
    assert not again.holds
    honest = run_again(file, wanted(place, output=tmp_path / "o", model=None))
    assert honest.holds


def test_records_that_cannot_be_run_again_say_why(place, tmp_path):
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    folder = place / "out" / "records" / "BERT" / "0" / "sst2"
    record = read_record(folder / "clean-0.json")
    file = write_record(dataclasses.replace(record, training=None), tmp_path / "unknown.json")
    with pytest.raises(InputError, match="does not say how its model was trained"):
        run_again(file, wanted(place, output=tmp_path))
    other = dataclasses.replace(record, config={"type": "AdvGLUETotal"})
    file = write_record(other, tmp_path / "total.json")
    with pytest.raises(InputError, match="AdvGLUETotal, which is not run again by itself"):
        run_again(file, wanted(place, output=tmp_path))


def test_records_are_readable_by_anyone(place):
    reproduce(REPRODUCTIONS["imbert-table3"], setting(place))
    found = find_records([place / "out" / "records"])
    assert not found.problems
    assert {record.kind for _, record in found.records} == {"training", "evaluation"}


def test_cost_is_of_the_papers_length_and_units_stand_where_they_belong(place):
    reproduce(REPRODUCTIONS["imbert-table5"], setting(place))
    record = read_record(place / "out" / "records" / "IM-BERT T5" / "0" / "cost" / "imdb.json")
    assert record.metric("gflops").value > 0
    assert "32 tokens" in record.notes[0]  # as many as the tiny model has positions for
    page = (place / "out" / "imbert-table5" / "reproduction.md").read_text()
    assert "| FLOPs (G) | published | 44.7 |" in page
    assert "| Accuracy | published | 22.28 |" in page
    assert "rule, BERT-base (G)" in page
    entry = numbers("imbert-table5", place, "IM-BERT T=10", "rule, BERT-base")
    assert entry.measured.value == pytest.approx(245.85, abs=0.05)
