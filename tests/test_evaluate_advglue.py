"""AdvGLUE: a small file whose figures are counted by hand, and the published one's baselines."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.evaluate.advglue import ADVGLUE, advglue_task, advglue_total, read_advglue
from holdfast.evaluate.measured import Measured
from holdfast.record import Metric
from holdfast.victim import FunctionVictim

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "data" / "advglue" / "dev_ann.json"
MAJORITIES = {
    "sst2": 51.35,
    "qqp": 58.97,
    "mnli": 41.32,
    "mnli-mm": 37.04,
    "qnli": 50.00,
    "rte": 56.79,
}


def answering(of: Callable[[Any], int], classes: int = 2) -> FunctionVictim:
    def function(texts: Sequence[Any]) -> list[list[float]]:
        return [[float(of(text) == code) for code in range(classes)] for text in texts]

    return FunctionVictim(function, classes)


def said(text: Any) -> int:
    """What a text says of itself: the first class that stands in it."""
    whole = text if isinstance(text, str) else " ".join(text)
    return int(next(character for character in whole if character.isdigit()))


def row(sentence: str, label: int, level: str | None, original: str | None = None) -> dict:
    made: dict[str, Any] = {"sentence": sentence, "label": label, "idx": 0, "method": "CheckList"}
    made |= {} if level is None else {"data_construction": level}
    return made | ({} if original is None else {"original_sentence": original})


SST2 = [
    row("says 1", 1, "word", "said 1"),  # right before and after
    row("says 0", 1, "word", "said 1"),  # broken
    row("says 0", 0, "word", "said 1"),  # right only after
    row("says 1", 0, "sentence", "said 0"),  # broken
    row("says 0", 1, "sentence", "said 0"),  # wrong before and after
    row("says 1", 1, "human"),
    row("says 0", 1, "human"),
]


def written(folder: Path, content: object) -> Path:
    file = folder / "dev_ann.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def figures(found: Measured) -> dict[tuple[str, str], Metric]:
    return {(metric.name, metric.group): metric for metric in found.metrics}


@pytest.fixture
def sst2(tmp_path: Path) -> Measured:
    rows = read_advglue(written(tmp_path, {"sst2": SST2}))["sst2"]
    return advglue_task(answering(said), rows)


def counts(metric: Metric) -> tuple[int | None, int | None]:
    return metric.count, metric.total


def test_all_rows_and_each_level_are_counted(sst2: Measured) -> None:
    found = figures(sst2)
    accuracies = {group: counts(m) for (name, group), m in found.items() if name == "accuracy"}
    assert accuracies == {"": (3, 7), "word": (2, 3), "sentence": (0, 2), "human": (1, 2)}
    assert found["accuracy", ""].majority == pytest.approx(5 / 7)
    assert found["accuracy", "sentence"].majority == 0.5
    assert found["accuracy", "human"].majority == 1.0
    assert found["accuracy", "word"].chance == 0.5
    assert all(m.no_better_than_majority for (n, _), m in found.items() if n == "accuracy")


def test_what_compares_with_the_original_leaves_out_rows_without_one(sst2: Measured) -> None:
    found = figures(sst2)
    assert counts(found["original_accuracy", ""]) == (3, 5)
    assert counts(found["paired_accuracy", ""]) == (1, 5)
    assert counts(found["paired_accuracy", "word"]) == (1, 3)
    assert found["paired_accuracy", ""].majority == 0.6  # a constant is right about both or none
    assert found["paired_accuracy", ""].chance == 0.25
    assert ("paired_accuracy", "human") not in found
    assert sst2.notes == (
        "2 of the 7 rows have no original text: original accuracy, paired accuracy and robustness "
        "gap are over the other 5.",
    )


def test_the_gap_is_the_difference_of_both_accuracies(sst2: Measured) -> None:
    gap = figures(sst2)["robustness_gap", ""]
    assert gap.value == pytest.approx(3 / 5 - 2 / 5)
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < gap.value < gap.high
    assert figures(sst2)["robustness_gap", "sentence"].value == pytest.approx(0.5)


def test_marks_follow_the_rows(sst2: Measured) -> None:
    assert sst2.marks["accuracy"] == "1010010"
    assert sst2.marks["original_accuracy"] == "11010"
    assert sst2.marks["paired_accuracy"] == "10000"
    assert sst2.marks["accuracy/word"] == "101"
    assert sst2.marks["paired_accuracy/sentence"] == "00"


def test_the_other_text_of_a_pair_is_its_own_original(tmp_path: Path) -> None:
    pair = {"question1": "a", "question2": "b", "original_question2": "c", "label": 1}
    file = written(tmp_path, {"qqp": [{**pair, "data_construction": "word"}]})
    (found,) = read_advglue(file)["qqp"]
    assert (found.id, found.texts, found.original) == ("qqp:0", ("a", "b"), ("a", "c"))


def test_a_constant_is_flagged(tmp_path: Path) -> None:
    rows = read_advglue(written(tmp_path, {"sst2": SST2}))["sst2"]
    found = advglue_task(answering(lambda _: 1), rows)
    accuracy = figures(found)["accuracy", ""]
    assert accuracy.value == accuracy.majority
    assert "one class (1) for 100 % of the 7 rows" in found.notes[0]


def test_rows_without_levels_have_an_accuracy_alone(tmp_path: Path) -> None:
    plain = [row("says 1", 1, None), row("says 1", 0, None)]
    found = advglue_task(answering(said), read_advglue(written(tmp_path, {"sst2": plain}))["sst2"])
    assert [(m.name, m.group) for m in found.metrics] == [("accuracy", "")]
    assert found.notes == ("No row has an original text: what compares with it is left out.",)


def test_rows_of_glue_itself_are_left_out(tmp_path: Path) -> None:
    benign = {**row("says 1", 1, "word"), "method": "glue"}
    rows = read_advglue(written(tmp_path, {"sst2": [benign, *SST2]}))["sst2"]
    assert len(rows) == len(SST2)


def test_a_model_of_another_task_is_refused(tmp_path: Path) -> None:
    rows = read_advglue(written(tmp_path, {"sst2": SST2}))["sst2"]
    with pytest.raises(InputError, match="3 classes apart and AdvGLUE's sst2 has 2"):
        advglue_task(answering(said, 3), rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ([], "some of sst2, qqp"),
        ({"cola": SST2}, "some of sst2, qqp"),
        ({"sst2": []}, "no adversarial row of sst2"),
        ({"sst2": "rows"}, "no adversarial row of sst2"),
        ({"sst2": [{"label": 1}]}, "row 0: expected an object with the texts sentence"),
        ({"sst2": [row("x", 2, "word")]}, "row 0: the label is 2; expected 0 to 1"),
        ({"sst2": [row("x", True, "word")]}, "the label is True"),
        ({"sst2": [row("x", 1, "letter")]}, "data_construction is 'letter'"),
    ],
)
def test_files_that_are_not_advglues_are_refused(
    tmp_path: Path, content: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_advglue(written(tmp_path, content))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_advglue(tmp_path / "none.json")


# Totals -------------------------------------------------------------------------------------------


def task(right: int, total: int, f1: float | None = None) -> Measured:
    accuracy = Metric("accuracy", right / total, count=right, total=total, majority=0.5, chance=0.5)
    if f1 is None:
        return Measured((accuracy, Metric("accuracy", 0.0, count=0, total=1, group="word")))
    glue = Metric("glue", (right / total + f1) / 2, majority=0.25)
    return Measured((accuracy, Metric("f1", f1, majority=0.0), glue))


SIX = {
    "sst2": task(10, 100),
    "qqp": task(60, 80, f1=0.6),  # 20 wrong: 15 hits
    "mnli": task(30, 100),
    "mnli-mm": task(50, 100),
    "qnli": task(20, 100),
    "rte": task(90, 100),
}


def test_the_plain_mean_is_of_six_and_the_official_score_of_five() -> None:
    plain, official = advglue_total(SIX)
    assert plain.value == pytest.approx((0.1 + 0.75 + 0.3 + 0.5 + 0.2 + 0.9) / 6)
    assert official.value == pytest.approx((0.1 + (0.75 + 0.6) / 2 + 0.4 + 0.2 + 0.9) / 5)
    assert (plain.majority, plain.chance) == (0.5, 0.5)
    assert official.majority == pytest.approx((4 * 0.5 + 0.25) / 5)
    assert official.chance is None  # F1 at random is not told


def test_the_intervals_are_those_of_rows_drawn_anew() -> None:
    rng = np.random.default_rng(3)
    drawn = []
    for name, measured in SIX.items():
        accuracy = measured.metrics[0]
        kinds = [15, 20, 45] if name == "qqp" else [0, accuracy.total - accuracy.count, 0]
        kinds[2] = accuracy.total - sum(kinds[:2])
        rows = rng.permutation(np.repeat([0, 1, 2], kinds))  # hits, wrong, other right ones
        some = rows[rng.integers(0, len(rows), size=(3000, len(rows)))]
        right, hits, wrong = (some != 1).mean(1), (some == 0).sum(1), (some == 1).sum(1)
        f1 = 2 * hits / np.maximum(2 * hits + wrong, 1)
        weight = {"mnli": 0.5, "mnli-mm": 0.5}.get(name, 1.0)
        drawn.append(weight * ((right + f1) / 2 if name == "qqp" else right))
    low, high = np.quantile(sum(drawn) / 5, (0.025, 0.975))
    official = advglue_total(SIX)[1]
    assert official.low == pytest.approx(low, abs=0.004)
    assert official.high == pytest.approx(high, abs=0.004)


def test_a_perfect_f1_stays_perfect_however_rows_are_drawn() -> None:
    everything = {name: task(50, 50, f1=1.0 if name == "qqp" else None) for name in ADVGLUE}
    for total in advglue_total(everything):
        assert (total.value, total.low, total.high) == (1.0, 1.0, 1.0)


def test_five_tasks_have_no_total() -> None:
    some = {name: measured for name, measured in SIX.items() if name != "rte"}
    assert [(m.name, m.value) for m in advglue_total(some)] == [
        ("plain_mean", None),
        ("official_score", None),
    ]


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"there is no {PUBLISHED}")
def test_the_baselines_of_the_published_development_set() -> None:
    rows = read_advglue(PUBLISHED)
    found = {
        name: advglue_task(answering(lambda _: 0, len(ADVGLUE[name].labels)), rows[name])
        for name in ADVGLUE
    }
    majorities = {name: of.metrics[0].majority for name, of in found.items()}
    assert {name: round(100 * (m or 0), 2) for name, m in majorities.items()} == MAJORITIES
    assert advglue_total(found)[0].majority == pytest.approx(0.4925, abs=5e-5)
    assert all("one class (0)" in measured.notes[0] for measured in found.values())
    sizes = {m.group: m.total for m in found["sst2"].metrics if m.name == "accuracy"}
    assert sizes == {"": 148, "word": 80, "sentence": 51, "human": 17}
    assert figures(found["sst2"])["paired_accuracy", ""].total == 131
