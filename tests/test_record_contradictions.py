"""Records that contradict themselves: a number its marks do not give is not believed."""

import dataclasses
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.record import (
    Metric,
    RunRecord,
    find_records,
    read_collection,
    read_record,
    write_collection,
    write_record,
)
from holdfast.record.contradictions import contradictions

BEFORE, AFTER, CERTAIN = "1111011011", "1010001001", "1000000000"
ROOT = Path(__file__).resolve().parents[1]


def record(*metrics: Metric, **changes: object) -> RunRecord:
    """An attack on ten examples; `metrics` stand for those of the same name."""
    whole = (
        Metric("accuracy", 0.8, 0.5, 0.95, 8, 10),
        Metric("accuracy_under_attack", 0.4, 0.1, 0.7, 4, 10),
        Metric("certified_accuracy", 0.1, 0.0, 0.4, 1, 10),
        Metric("success_rate", 0.5, 0.2, 0.8, 4, 8),
        Metric("queries", 31.4),
    )
    told = {metric.name: metric for metric in (*whole, *metrics)}
    marks = {
        "accuracy": BEFORE,
        "accuracy_under_attack": AFTER,
        "certified_accuracy": CERTAIN,
    }
    made = RunRecord(
        kind="evaluation",
        model="plain",
        task="sst2",
        seed=0,
        config={},
        attack="pwws_rift",
        metrics=tuple(told.values()),
        marks=marks,
    )
    return dataclasses.replace(made, **changes)


def test_a_sound_record_says_nothing_twice() -> None:
    assert list(contradictions(record())) == []
    assert list(contradictions(record(marks={}))) == []
    assert list(contradictions(record(Metric("accuracy_under_attack", 0.4)))) == []  # no counts
    thirds = dict.fromkeys(("accuracy", "accuracy_under_attack"), "110110110")
    rounded = record(*(Metric(name, 0.667, count=6, total=9) for name in thirds), marks=thirds)
    assert list(contradictions(rounded)) == []


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        (Metric("accuracy_under_attack", 0.95, count=4, total=10), "is 0.95 (4 of 10)"),
        (Metric("accuracy_under_attack", 0.401), "is 0.401, and its marks give 4 of 10"),
        (Metric("accuracy_under_attack", 0.4, count=3, total=10), "is 0.4 (3 of 10)"),
        (Metric("accuracy_under_attack", 0.4, count=4, total=11), "is 0.4 (4 of 11)"),
        (Metric("accuracy_under_attack", None, count=5, total=10), "is not known (5 of 10)"),
        (Metric("certified_accuracy", 0.2, count=1, total=10), "its marks give 1 of 10"),
        (Metric("success_rate", 0.1, count=4, total=8), "is 0.1 (4 of 8), and 4 of 8 is 0.5"),
    ],
)
def test_a_number_that_its_marks_do_not_give_is_told(metric: Metric, sentence: str) -> None:
    told = next(contradictions(record(metric)))
    assert told.startswith(f"its {metric.name} is")
    assert sentence in told


def test_marks_of_a_group_are_those_of_its_metric() -> None:
    white = Metric("white_box_accuracy", 0.5, count=5, total=10, group="hull")
    edited = record(white, marks={"white_box_accuracy/hull": BEFORE})
    (told,) = contradictions(edited)
    assert told.startswith("its white_box_accuracy of hull is 0.5 (5 of 10), and its marks give 8")


@pytest.mark.parametrize(
    ("name", "most"),
    [("accuracy_under_attack", "accuracy"), ("certified_accuracy", "accuracy_under_attack")],
)
def test_no_attack_leaves_more_than_there_was(name: str, most: str) -> None:
    above = record(Metric(name, 0.9, count=9, total=10), marks={})
    assert f"its {most}" in next(contradictions(above))
    assert "which cannot be less" in next(contradictions(above))
    of_others = record(Metric(name, 0.9, count=18, total=20), marks={})
    assert f"its {name} is" not in next(contradictions(of_others), "")


@pytest.mark.parametrize("marks", [[1, 0], "01x", "", None], ids=str)
def test_marks_that_are_none_contradict_nothing(marks: object) -> None:
    assert list(contradictions(record(marks={"accuracy": marks}))) == []


def test_counts_of_a_training_were_made_up_and_contradict_nothing() -> None:
    """Of 504 rows 63 held, and an earlier version took them for 62 of 500."""
    hull = Metric("hull_accuracy", 63 / 504, 0.098, 0.156, 62, 500, group="validation")
    assert list(contradictions(record(hull, kind="training", marks={}))) == []
    assert list(contradictions(record(hull, marks={}))) != []


# Reading --------------------------------------------------------------------------------------

EDITED = record(Metric("accuracy_under_attack", 0.95, count=4, total=10))


def test_an_edited_record_is_refused_and_harms_no_other(tmp_path: Path) -> None:
    file = write_record(EDITED, tmp_path / "a.json")
    write_record(record(), tmp_path / "b.json")
    with pytest.raises(
        InputError, match=r"a\.json contradicts itself .*remove it and measure again"
    ):
        read_record(file)
    found = find_records([tmp_path])
    assert [path.name for path, _ in found.records] == ["b.json"]
    assert [problem.partition(" (")[0] for problem in found.problems] == [
        f"{file} contradicts itself"
    ]


def test_an_edited_record_costs_none_of_its_collection(tmp_path: Path) -> None:
    file = write_collection(
        [record(seed=1), EDITED, record(seed=2)], tmp_path / "a.records.jsonl.gz"
    )
    found = find_records([tmp_path])
    assert [one.seed for _, one in found.records] == [1, 2]
    assert len(found.problems) == 1
    with pytest.raises(InputError, match="contradicts itself"):
        read_collection(file)


def test_no_published_record_contradicts_itself() -> None:
    found = find_records([ROOT / "results"])
    assert len(found.records) > 1000
    assert found.problems == ()
