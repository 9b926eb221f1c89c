"""The scripts behind docs/results: what is run once, what is held out, what is chosen."""

import argparse
import dataclasses
import json
import shutil
import sys
from pathlib import Path

import pytest

from holdfast.data import Example
from holdfast.record import (
    Metric,
    RunRecord,
    read_collection,
    read_record,
    write_collection,
    write_record,
)
from holdfast.reproduce import Setting

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield
    for name in ("campaign", "choose", "development", "latency", "results", "studies"):
        sys.modules.pop(name, None)


# -- campaign -------------------------------------------------------------------------------------


def test_an_order_names_model_study_seeds_and_rows():
    from campaign import order_of

    order = order_of("e5-small:imbert-sst2:0,2:BERT,Layer 4-6")
    assert (order.model, order.study.name) == ("e5-small", "imbert-sst2")
    assert (order.seeds, order.rows) == ((0, 2), {"BERT", "Layer 4-6"})
    with pytest.raises(argparse.ArgumentTypeError, match="is no order; expected MODEL:STUDY"):
        order_of("bert:imbert-sst2:0")


def test_a_faster_study_is_another_study_with_a_higher_rate():
    from studies import MODELS, STUDIES

    slow, fast = (STUDIES[f"imbert-sst2{ending}"] for ending in ("", "-x4"))
    for model, rate in MODELS.items():
        assert slow.budget_for(model).learning_rate == rate
        assert fast.budget_for(model).learning_rate == 4 * rate
    assert dataclasses.replace(fast, name=slow.name, rate=slow.rate) == slow


def test_a_cell_that_is_ordered_twice_is_run_once(monkeypatch, tmp_path):
    """Two processes in one folder would spoil each other's files."""
    import campaign

    def setting_of(study, model, options):
        return Setting(model=model, output=tmp_path / model / study.name, budget=study.budget)

    monkeypatch.setattr(campaign, "setting_of", setting_of)
    texts = ("e5-small:imbert-sst2:1,0:BERT,EX-BERT", "e5-small:imbert-sst2:0,1:BERT")
    options = argparse.Namespace(orders=[campaign.order_of(text) for text in texts])
    found = [(cell.row, cell.seed) for _, cell in campaign.tasks_of(options)]
    assert sorted(found) == [("BERT", 0), ("BERT", 1), ("EX-BERT", 0), ("EX-BERT", 1)]
    assert [seed for _, seed in found] == [0, 0, 1, 1]  # seed by seed
    options.orders = [campaign.order_of("e5-small:imbert-sst2:7:BERT")]
    assert [cell.seed for _, cell in campaign.tasks_of(options)] == [7]  # none of the recipe's own


# -- development ----------------------------------------------------------------------------------


def rows(path: Path) -> list[str]:
    return [json.loads(line)["sentence"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_study_can_run_some_of_the_attacks(tmp_path):
    import reproduce_tiny
    from campaign import cells_of
    from studies import Study

    setting = reproduce_tiny.setting(reproduce_tiny.prepare(tmp_path))
    study = Study("rift", ("rift-table1",), setting.budget, ("imdb",))
    both = cells_of(study, setting)
    one = cells_of(dataclasses.replace(study, attacks=("genetic_jia",)), setting)
    assert {cell.measure.attacks for cell in both} == {("genetic_jia", "pwws_rift")}
    assert {cell.measure.attacks for cell in one} == {("genetic_jia",)}
    assert [cell.train for cell in one] == [cell.train for cell in both]


def test_no_phrase_of_a_held_out_sentence_is_trained_on(monkeypatch, tmp_path):
    import development

    monkeypatch.setattr(development, "HELD", 2)
    long = [" ".join(f"{name}{n}" for n in range(14)) for name in "abcde"]
    around = [f"and {text}" for text in long]
    texts = [*long, *around, "a3 a4", "b0", "c1 c2 c3", "d5 d7", "e13 "]
    given = [{"sentence": text, "label": 0} for text in texts]
    development.write(tmp_path / "data/sst2/train.jsonl", given)
    development.sst2(tmp_path / "data", tmp_path / "out")
    held = rows(tmp_path / "out/sst2/validation.jsonl")
    left = rows(tmp_path / "out/sst2/train.jsonl")
    assert len(held) == 2
    assert set(held) <= {*long, *around}
    for sentence in held:
        assert not any(f" {text.strip()} " in f" {sentence} " for text in left)
        assert not any(f" {sentence} " in f" {text.strip()} " for text in left)
    assert "d5 d7" in left  # no run of words of any sentence
    assert len(left) >= len(texts) - 6


# -- choose ---------------------------------------------------------------------------------------


def scored(clean: float, *attacked: float) -> dict[str, float]:
    names = ("pwws_rift", "genetic_jia", "pwws_ren", "deepwordbug")[: len(attacked)]
    return {"clean": clean, **dict(zip(names, attacked, strict=True))}


def test_the_best_under_its_worst_attack_within_a_point_is_chosen():
    from choose import ALL, WORDS, choose

    found = {
        "Plain": scored(0.90, 0.20, 0.10, 0.30),
        "strong but costly": scored(0.88, 0.60, 0.60, 0.60),
        "strong under one": scored(0.90, 0.70, 0.05, 0.70),
        "better": scored(0.8901, 0.25, 0.25, 0.30),
        "half measured": scored(0.91, 0.90),
    }
    assert choose(found, WORDS) == "better"
    del found["better"]
    assert choose(found, WORDS) == "Plain"
    spelt = {"Plain": scored(0.9, 0.2, 0.1, 0.3, 0.0), "spelt": scored(0.9, 0.2, 0.05, 0.3, 0.4)}
    assert (choose(spelt, WORDS), choose(spelt, ALL)) == ("Plain", "spelt")
    tied = {"Plain": scored(0.9, 0.2, 0.2, 0.2), "tied": scored(0.91, 0.3, 0.2, 0.2)}
    assert choose(tied, WORDS) == "tied"  # as much under the worst, and cleaner
    del found["Plain"]
    with pytest.raises(SystemExit, match="has not measured Plain yet"):
        choose(found, WORDS)


def evaluated(
    model: str,
    attack: str | None,
    value: float,
    *,
    name: str = "",
    data: str = "",
    files: str = "",
) -> RunRecord:
    name = name or ("accuracy_under_attack" if attack else "accuracy")
    return RunRecord(
        kind="evaluation",
        model=model,
        task="sst2",
        seed=0,
        config={},
        attack=attack,
        metrics=(Metric(name, value),),
        checksums={name: value for name, value in (("data", data), ("attack", files)) if value},
    )


def test_accuracies_are_read_from_records():
    from choose import accuracies

    found = accuracies(
        [
            evaluated("Plain", None, 0.9),
            evaluated("Plain", "pwws_ren", 0.2),
            evaluated("Plain", "pwws_ren", 0.4),  # another seed
            evaluated("Plain", "pwws_ren", 0.6, name="success_rate"),
        ]
    )
    assert found == {"Plain": {"clean": 0.9, "pwws_ren": pytest.approx(0.3)}}


def test_what_was_measured_on_other_examples_is_left_out_and_told(capsys):
    from choose import accuracies

    records = [
        *(evaluated("Plain", attack, 0.5, data="a") for attack in (None, "pwws_ren")),
        *(evaluated("same", attack, 0.6, data="a") for attack in (None, "pwws_ren")),
        evaluated("partly", None, 0.7, data="a"),
        evaluated("partly", "pwws_ren", 0.7, data="b"),
        evaluated("mixed", "pwws_ren", 0.8, data="a"),
        evaluated("mixed", "pwws_ren", 0.8, data="b"),
        evaluated("elsewhere", None, 0.9, data="a"),
        evaluated("elsewhere", "pwws_ren", 0.9, data="a", files="other"),
    ]
    found = accuracies(records)
    assert found["same"] == {"clean": 0.6, "pwws_ren": 0.6}
    assert (found["partly"], found["mixed"]) == ({"clean": 0.7}, {})
    assert found["elsewhere"] == {"clean": 0.9}
    assert capsys.readouterr().err.splitlines() == [
        f"left out: {model} met other examples, or another attacker, than Plain (pwws_ren)"
        for model in ("partly", "mixed", "elsewhere")
    ]


def test_of_candidates_on_several_draws_those_on_plains_are_chosen_from(capsys):
    """The development records of SNLI mix draws."""
    from choose import PLAIN, WORDS, accuracies, choose

    file = ROOT / "results" / "search-snli" / "all-MiniLM-L6-v2.records.jsonl.gz"
    records = [record for record in read_collection(file) if record.kind == "evaluation"]
    draws = {(r.model, r.attack): r.checksums["data"] for r in records}
    chosen = choose(accuracies(records), WORDS)
    assert "left out: Plain spelt met other examples" in capsys.readouterr().err
    for attack in (None, *WORDS):
        assert draws[chosen, attack] == draws[PLAIN, attack]


def test_models_are_compared_on_the_seeds_that_met_the_same_attacker():
    """A row whose attacker had other files with one seed is compared without it, on both sides."""
    from attackers import met_the_same

    from holdfast.evaluate.comparing import findings

    def met(model, seed, files, marks):
        record = evaluated(model, "pwws_ren", 0.5, data="d", files=files)
        return dataclasses.replace(record, seed=seed, marks={"accuracy_under_attack": marks})

    records = [
        *(met("Plain", seed, "a", "1100" * 9) for seed in (0, 1)),
        met("Plain", 2, "b", "0000" * 9),
        *(met("same", seed, "aab"[seed], "1110" * 9) for seed in (0, 1, 2)),
        *(met("partly", seed, "a", "1110" * 9) for seed in (0, 1, 2)),
        met("never", 0, "b", "1111" * 9),
    ]
    found = {
        one.comparison.first: one.comparison
        for one in findings(met_the_same(records, "Plain"), "Plain")
    }
    assert {row: comparison.seeds for row, comparison in found.items()} == {"same": 3, "partly": 2}
    assert found["partly"].difference.value == pytest.approx(0.25)  # without the seed that fell
    assert found["same"].difference.value == pytest.approx((0.25 + 0.25 + 0.75) / 3)
    assert {comparison.corrected_for for comparison in found.values()} == {2}


# -- latency and results --------------------------------------------------------------------------


def test_a_model_is_timed_alone_and_its_time_is_published(tmp_path):
    import latency
    import reproduce_tiny
    from campaign import cells_of
    from packing import newer, told

    setting = reproduce_tiny.setting(reproduce_tiny.prepare(tmp_path))
    cells = {cell.row: cell for cell in cells_of(latency.STUDY, setting) if cell.seed == 0}
    examples = [Example("0", ("a fine film",), 1)]
    plain, connected = (
        read_record(latency.timed(setting, cells[row], examples)) for row in ("BERT", "IM-BERT T1")
    )
    costs = [record.metric("gflops").value for record in (plain, connected)]
    assert costs[1] > 2 * costs[0]  # a step runs forward and backward
    published = told(plain, "0" * 40)
    assert published.metric("latency_ms").value > 0
    beside = told(dataclasses.replace(plain, notes=()), "0" * 40)
    assert beside.metric("latency_ms") is None
    assert newer(published, beside) is published
    assert newer(beside, published) is published


def test_beside_others_a_model_of_a_faster_study_says_so(tmp_path, monkeypatch):
    import packing

    import results

    for study in ("imbert-sst2", "imbert-sst2-x4"):
        record = RunRecord(kind="training", model="BERT", task="sst2", seed=0, config={})
        write_collection([record], tmp_path / study / "e5-small.records.jsonl.gz")
    monkeypatch.setattr(packing, "RESULTS", tmp_path)
    alone, both = (
        [record.model for record in results.records_of(studies, "e5-small")]
        for studies in ("imbert-sst2-x4", "imbert-sst2+imbert-sst2-x4")
    )
    assert (alone, both) == (["BERT"], ["BERT", "BERT x4"])


def packed(tmp_path, monkeypatch, *records: RunRecord, commit: str = "now") -> dict[str, RunRecord]:
    """Pack records as a campaign left them; return what stands in the file then, by attack."""
    import packing

    monkeypatch.setattr(packing, "RESULTS", tmp_path / "results")
    folder = tmp_path / "runs" / "e5-small" / "search-sst2" / "records"
    for at, record in enumerate(records):
        write_record(record, folder / f"{at}.json")
    packing.pack(tmp_path / "runs", commit, ["search-sst2"])
    shutil.rmtree(tmp_path / "runs")
    found = read_collection(packing.file_of("search-sst2", "e5-small"))
    return {record.attack or record.kind: record for record in found}


def trained(loss: float) -> RunRecord:
    return dataclasses.replace(
        evaluated("Plain", None, loss, name="loss"), kind="training", environment={}
    )


def test_what_was_packed_keeps_its_commit(tmp_path, monkeypatch):
    known = {"commit": "then"}
    attacked = dataclasses.replace(evaluated("Plain", "pwws_ren", 0.4), environment=known)
    for commit in ("now", "later"):
        found = packed(tmp_path, monkeypatch, trained(0.3), attacked, commit=commit)
        commits = {name: record.environment["commit"] for name, record in found.items()}
        assert commits == {"training": "now", "pwws_ren": "then"}


def test_what_was_measured_of_a_model_goes_when_another_takes_its_place(tmp_path, monkeypatch):
    before = evaluated("Plain", "pwws_ren", 0.4), evaluated("Plain", "pwws_rift", 0.2)
    other_seed = dataclasses.replace(before[0], seed=1, attack="textfooler")
    assert len(packed(tmp_path, monkeypatch, trained(0.3), *before, other_seed)) == 4
    same = packed(tmp_path, monkeypatch, trained(0.3), evaluated("Plain", "pwws_ren", 0.5))
    assert set(same) == {"training", "pwws_ren", "pwws_rift", "textfooler"}
    anew = packed(tmp_path, monkeypatch, trained(0.1), evaluated("Plain", "pwws_ren", 0.6))
    assert set(anew) == {"training", "pwws_ren", "textfooler"}
