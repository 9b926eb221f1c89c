"""What is finished, with which files; a cell that cannot be finished; a record run again."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from reproduce_tiny import LEXICON, prepare, setting, wanted

from holdfast.commands.reproduce_text import again_text
from holdfast.data import evaluation_split, find_task, read_split
from holdfast.errors import InputError
from holdfast.record import Metric, RunRecord, read_record, write_record
from holdfast.reproduce import REPRODUCTIONS, Again, reproduce, result_of, run_again
from holdfast.reproduce import run as running
from holdfast.reproduce.again import Compared, _compared
from holdfast.reproduce.budget import FULL, SMALL, TINY
from holdfast.reproduce.differences import differences
from holdfast.reproduce.done import is_done, note_done, refuse_other_files
from holdfast.reproduce.markdown import markdown
from holdfast.reproduce.run import suites_of
from holdfast.reproduce.samples import sample_folder

SST2 = REPRODUCTIONS["imbert-table3"]
IMDB = REPRODUCTIONS["imbert-table5"]
RIFT = REPRODUCTIONS["rift-table1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return prepare(tmp_path_factory.mktemp("done"))


@pytest.fixture
def no_page(monkeypatch):
    """Leave out the report's pictures."""
    module = __import__("holdfast.reproduce.reproduce", fromlist=["write_report"])
    monkeypatch.setattr(module, "write_report", lambda *a, **k: None)


def first(recipe, at):
    return recipe.cells(at)[0]


def test_advglue_that_is_added_later_is_measured(place, tmp_path, monkeypatch, no_page):
    """The same command goes on: nothing is trained again, and what was missing is there."""
    there = setting(place, output=tmp_path)
    without = dataclasses.replace(there, advglue=None)
    one = dataclasses.replace(SST2, cells=lambda at: SST2.cells(at)[:1])
    before = reproduce(one, without)
    assert (before.cells, before.done, before.missing) == (1, 1, 1)
    assert result_of(one, there).done == 0  # with AdvGLUE there is something left to do
    after = reproduce(one, there)
    assert (after.done, after.missing) == (1, 0)
    assert (tmp_path / "records" / "BERT" / "0" / "advglue" / "sst2.json").is_file()
    monkeypatch.setattr(running, "evaluate", lambda *a, **k: pytest.fail("measured again"))
    assert reproduce(one, there).missing == 0


def changed_encoder(place, tmp_path, at):
    folder = tmp_path / "encoder"
    shutil.copytree(place / "model", folder)
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    return dataclasses.replace(at, encoder=folder)


def changed_sample(place, tmp_path, at):
    file = tmp_path / "imdb.txt"
    file.write_text("1 a great film\n0 a dull film\n")
    return dataclasses.replace(at, textfooler=file)


def changed_lexicon(place, tmp_path, at):
    file = tmp_path / "lexicon.json"
    file.write_text(json.dumps({**LEXICON, "new": ["great"]}))
    return dataclasses.replace(at, lexicon=file)


def new_vectors(place, tmp_path, at):
    file = tmp_path / "vectors.txt"
    file.write_text("good 1 0\nfine 1 0.1\n")
    return dataclasses.replace(at, vectors=file)


def no_allowed_sets(place, tmp_path, at):
    return dataclasses.replace(at, allowed={})


@pytest.mark.parametrize(
    ("recipe", "change", "named"),
    [
        (IMDB, changed_encoder, "sentence encoder"),
        (IMDB, changed_sample, "sample of TextFooler"),
        (IMDB, changed_lexicon, "lexicon"),
        (IMDB, new_vectors, "file of word vectors"),
        (RIFT, no_allowed_sets, "file of allowed sets"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_other_files_than_a_finished_cell_had_are_refused(recipe, change, named, place, tmp_path):
    """Old numbers would stand under the new name."""
    at = setting(place, output=tmp_path / "out")
    cell = first(recipe, at)
    note_done(at, cell)
    refuse_other_files(at, [cell])
    other = change(place, tmp_path, at)
    with pytest.raises(InputError, match=rf"measured with another {named}.*another output folder"):
        refuse_other_files(other, [cell])
    assert not is_done(other, cell)


def test_test_examples_are_read_where_a_task_has_validation_examples_too(place, tmp_path):
    """What was chosen by the validation examples must not be reported on them."""
    data = tmp_path / "data"
    (data / "snli").mkdir(parents=True)
    for split in ("validation", "test"):
        row = {"premise": f"a {split}", "hypothesis": "b", "label": 0}
        (data / "snli" / f"{split}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    at = dataclasses.replace(setting(place, output=tmp_path / "out"), data=data)
    folder = sample_folder(at, "snli", "test")
    task = find_task("snli")
    (found,) = read_split(task, evaluation_split(task, folder), folder).examples
    assert found.texts[0] == "a test"
    assert sample_folder(at, "snli", "published") == data
    assert sample_folder(at, "sst2", "test") == data  # its test labels are not public
    for name in ("strongest", "further", "misspellers"):
        assert all(c.measure.sample == "test" for c in REPRODUCTIONS[name].cells(at))


def test_another_lexicon_of_the_defence_is_another_cell(place, tmp_path):
    joined = tmp_path / "joined.json"
    joined.write_text('{"good": ["nice"]}', encoding="utf-8")
    at = dataclasses.replace(setting(place, output=tmp_path / "out", budget=FULL), joined=joined)
    cells = REPRODUCTIONS["strongest"].cells(at)
    cell = next(c for c in cells if c.row == "Plain wide canonical")
    note_done(at, cell)
    assert is_done(at, cell)
    joined.write_text('{"good": ["fine"]}', encoding="utf-8")
    assert not is_done(at, cell)


def test_a_sample_is_written_anew_from_another_file(place, tmp_path):
    at = setting(place, output=tmp_path / "out")
    assert len(rows_of(sample_folder(at, "imdb", "textfooler"))) == 6
    other = changed_sample(place, tmp_path, at)
    assert len(rows_of(sample_folder(other, "imdb", "textfooler"))) == 2


def rows_of(folder):
    return (folder / "imdb" / "test.jsonl").read_text().splitlines()


def test_files_that_only_moved_are_the_same(place, tmp_path):
    at = setting(place, output=tmp_path / "out")
    cell = first(IMDB, at)
    note_done(at, cell)
    shutil.copytree(place / "model", tmp_path / "elsewhere")
    shutil.copy(at.lexicon, tmp_path / "lexicon.json")
    moved = dataclasses.replace(
        at, encoder=tmp_path / "elsewhere", lexicon=tmp_path / "lexicon.json"
    )
    refuse_other_files(moved, [cell])
    assert is_done(moved, cell)


def test_a_cell_is_done_when_this_tables_measure_is(place, tmp_path):
    """Another table may have trained it and measured less."""
    at = setting(place, output=tmp_path)
    cell = first(SST2, at)
    less = dataclasses.replace(cell, measure=dataclasses.replace(cell.measure, attacks=()))
    assert less.id == cell.id
    note_done(at, less)
    assert result_of(SST2, at).done == 0
    note_done(at, cell)
    assert result_of(SST2, at).done == 1


def test_a_note_of_an_earlier_version_does_not_count(place, tmp_path):
    at = setting(place, output=tmp_path)
    cell = first(SST2, at)
    note_done(at, cell)
    file = next(tmp_path.glob("cells/*/done.json"))
    file.write_text(json.dumps([note["measure"] for note in json.loads(file.read_text())]))
    assert not is_done(at, cell)
    refuse_other_files(at, [cell])


def test_bad_input_of_one_cell_does_not_stop_the_others(place, tmp_path, monkeypatch, no_page):
    recipe, real = REPRODUCTIONS["rift-figure2"], running.fine_tune

    def refuses(config, **settings):
        if type(config.objective).__name__ == "Rift":
            raise InputError("There is no such split.")
        return real(config, **settings)

    monkeypatch.setattr(running, "fine_tune", refuses)
    result = reproduce(recipe, setting(place, output=tmp_path))
    assert result.failed == ("RIFT, imdb, seed 0 failed: There is no such split.",)
    assert (result.done, result.missing) == (result.cells - 1, 1)


@pytest.mark.parametrize(("budget", "clean"), [(SMALL, 100), (FULL, None), (TINY, "same")])
def test_clean_accuracy_is_on_more_examples_than_are_attacked(budget, clean, place):
    at = dataclasses.replace(setting(place), budget=budget)
    (suite,) = suites_of(first(SST2, at), at)
    assert suite.clean_examples == clean
    assert suite.examples == (budget.attacked or 1000)


def test_the_genetic_search_can_be_given_fewer_examples_than_the_others(place, tmp_path, no_page):
    few = dataclasses.replace(TINY, genetic_examples=2, checks=True)
    one = dataclasses.replace(RIFT, cells=lambda at: RIFT.cells(at)[:1])
    at = setting(place, output=tmp_path, budget=few)
    given = {suite.attacks: suite.examples for suite in suites_of(first(RIFT, at), at)}
    assert given == {("pwws_rift",): TINY.attacked, ("genetic_jia",): 2}
    result = reproduce(one, at)
    assert (result.done, result.failed) == (1, ())
    assert (
        "The genetic search is given 2 of the 4 examples that are attacked." in result.differences
    )
    folder = tmp_path / "records" / "Standard" / "0" / "imdb"
    names = ("clean-0", "pwws_rift-0", "genetic_jia-0")
    totals = [read_record(folder / f"{name}.json").metric("accuracy").total for name in names]
    assert totals == [TINY.attacked, TINY.attacked, 2]
    for name in names[1:]:  # each can be run again, beside the other
        assert run_again(folder / f"{name}.json", wanted(place, output=tmp_path)).holds


def test_another_training_of_the_same_row_and_seed_is_run_again_in_the_same_place(
    place, tmp_path, no_page
):
    """Two tables may call their own trainings the same."""
    one = dataclasses.replace(SST2, cells=lambda at: SST2.cells(at)[:1])
    reproduce(one, setting(place, output=tmp_path / "one"))
    (file,) = (tmp_path / "one" / "records").glob("*/0/sst2/pwws_*-0.json")
    again = wanted(place, output=tmp_path / "again")
    assert run_again(file, again).holds
    record = read_record(file)
    longer = dataclasses.replace(record, training={**record.training, "seed": 5})
    run_again(write_record(longer, tmp_path / "longer.json"), again)
    assert len(list((tmp_path / "again").rglob("pwws_*-0.json"))) == 2


def test_the_genetic_search_can_be_left_out(place, tmp_path, no_page):
    none = dataclasses.replace(TINY, genetic_examples=0)
    one = dataclasses.replace(RIFT, cells=lambda at: RIFT.cells(at)[:1])
    at = setting(place, output=tmp_path, budget=none)
    (suite,) = suites_of(first(RIFT, at), at)
    assert (suite.attacks, suite.examples) == (("pwws_rift",), TINY.attacked)
    result = reproduce(one, at)
    assert (result.done, result.missing) == (1, 0)  # nothing is waited for
    assert "The genetic search is left out." in result.differences


def test_models_can_be_measured_in_half_precision(place, tmp_path, no_page):
    half = dataclasses.replace(TINY, measured_in="fp16")
    one = dataclasses.replace(RIFT, cells=lambda at: RIFT.cells(at)[:1])
    result = reproduce(one, setting(place, output=tmp_path, budget=half))
    assert "Models are trained in fp32 and measured in fp16." in result.differences
    file = tmp_path / "records" / "Standard" / "0" / "imdb" / "genetic_jia-0.json"
    assert read_record(file).config["precision"] == "fp16"
    assert run_again(file, wanted(place, output=tmp_path)).holds


def test_rows_that_met_other_attacks_of_one_name_are_told(place, tmp_path):
    at = setting(place, output=tmp_path)
    for number, row in enumerate(dict.fromkeys(cell.row for cell in SST2.cells(at))):
        checksums = {"attack": "ab"[number > 0] * 64}
        of = RunRecord("evaluation", row, "sst2", 0, {}, attack="pwws_rift", checksums=checksums)
        write_record(of, tmp_path / "records" / row / "0" / "sst2" / "pwws_rift-0.json")
    told = "pwws_rift (settings aaaaaa) met BERT (seed 0)."
    result = result_of(SST2, at)
    assert any(told in difference for difference in result.differences)
    assert told in markdown(result)


def test_what_limits_the_genetic_search_is_told_where_it_is_run(place):
    def told(examples):
        budget = dataclasses.replace(TINY, genetic_examples=examples)
        at = setting(place, budget=budget, reading="aligned")
        at = dataclasses.replace(at, allowed={})
        return " ".join(differences(RIFT, at, RIFT.cells(at)))

    assert "No language model limits" in told(None)
    assert "No language model limits" not in told(0)
    for examples in (None, 0):
        assert "Models read with their own pieces" in told(examples)


def test_a_clean_record_has_as_many_examples_as_the_budget_says(place, tmp_path, no_page):
    more = dataclasses.replace(TINY, clean=10)
    one = dataclasses.replace(SST2, cells=lambda at: SST2.cells(at)[:1])
    reproduce(one, setting(place, output=tmp_path, budget=more))
    folder = tmp_path / "records" / "BERT" / "0" / "sst2"
    assert read_record(folder / "clean-0.json").metric("accuracy").total == 10
    assert read_record(folder / "pwws_rift-0.json").metric("accuracy_under_attack").total == 4


def made(*metrics, **config):
    return RunRecord("evaluation", "BERT", "sst2", 0, config, metrics=metrics)


def test_a_number_that_does_not_come_out_again_does_not_hold():
    before = made(Metric("accuracy", 0.5, 0.4, 0.6), Metric("f1", 0.5, 0.4, 0.6))
    again = _compared(Path("r.json"), before, made(Metric("accuracy", 0.5)))
    assert [one.holds for one in again.compared] == [True, False]
    assert not again.holds
    told = again_text(again)
    assert "The record has f1, which did not come out" in told
    assert "Every number" not in told
    whole = _compared(Path("r.json"), before, made(Metric("accuracy", 0.5), Metric("f1", 0.6)))
    assert whole.holds
    assert "Every number that has an interval lies in it again." in again_text(whole)


def test_costs_are_left_out_by_name_and_that_is_said():
    names = ("parameters", "gflops", "latency_ms", "memory_mib")
    before = made(Metric("accuracy", 0.5, 0.4, 0.6), *(Metric(name, 1.0) for name in names))
    again = _compared(Path("r.json"), before, made(Metric("accuracy", 0.5)))
    assert again.holds
    assert again.left_out == names
    assert "not measured again: parameters, gflops, latency_ms" in " ".join(
        again_text(again).split()
    )
    probe = made(*(Metric(name, 1.0) for name in names), type="Probed")
    counted = _compared(Path("r.json"), probe, made(Metric("parameters", 1.0)))
    assert counted.left_out == ("latency_ms", "memory_mib")
    assert not counted.holds  # gflops are counted by the probe, and did not come out


def test_without_any_interval_nothing_is_claimed():
    one = Compared(Metric("growth", 2.0), 2.0)
    again = Again(Path("r.json"), made(), (one,))
    assert again.holds
    assert "No number has an interval" in " ".join(again_text(again).split())


def test_a_note_of_before_there_were_vectors_and_fewer_examples_still_counts(place, tmp_path):
    at = setting(place, output=tmp_path)
    cell = first(IMDB, at)
    note_done(at, cell)
    file = next(tmp_path.glob("cells/*/done.json"))
    (note,) = json.loads(file.read_text())
    assert "genetic_examples" not in note["measure"]
    del note["resources"]["file of word vectors"]
    file.write_text(json.dumps([note]))
    assert is_done(at, cell)
    assert not is_done(new_vectors(place, tmp_path, at), cell)


def test_an_attacker_with_vectors_is_not_run_without_them(place, tmp_path):
    recipe = REPRODUCTIONS["neighbours"]
    with pytest.raises(InputError, match=r"--vectors FILE, or make one with .*counter_fit\.py"):
        reproduce(recipe, setting(place, output=tmp_path))
