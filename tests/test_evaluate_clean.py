"""Accuracy and GLUE's metric, against numbers counted by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
import text_tokenizers as kinds
from attack_bag import bag, examples
from attack_tiny import labelled, sentences, victim

from holdfast.data import TASKS, Example
from holdfast.errors import InputError
from holdfast.evaluate.clean import clean, predictions
from holdfast.record import Metric
from holdfast.victim import FunctionVictim

# what the function answers, and what would be right: 3 hits, 2 false positives, 1 false negative
ANSWERS = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
LABELS = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]


def answering(answers: Sequence[float]) -> FunctionVictim:
    """A function that answers the text "3" with the answer of that number."""

    def function(texts: list[str]) -> list[list[float]]:
        return [[1 - answers[int(of[0])], answers[int(of[0])]] for of in texts]

    return FunctionVictim(function)


def numbered(labels: Sequence[int]) -> list[Example]:
    return [Example(f"test:{n}", (str(n), "x"), label) for n, label in enumerate(labels)]


def measured(task: str, **settings: int) -> dict[str, Metric]:
    found = clean(answering(ANSWERS), numbered(LABELS), TASKS[task], **settings)
    assert found.marks == {"accuracy": "1110001111"}
    return {metric.name: metric for metric in found.metrics}


def test_a_task_ranked_by_accuracy_has_it_alone() -> None:
    found = measured("rte")
    assert list(found) == ["accuracy"]
    accuracy = found["accuracy"]
    assert (accuracy.value, accuracy.count, accuracy.total) == (0.7, 7, 10)
    assert (accuracy.majority, accuracy.chance) == (0.6, 0.5)


def test_qqp_has_f1_and_the_mean_of_both() -> None:
    found = measured("qqp")
    assert found["f1"].value == pytest.approx(2 * 3 / (2 * 3 + 2 + 1))
    assert found["glue"].value == pytest.approx((0.7 + 2 / 3) / 2)
    # always "not a duplicate" is right for 6 of 10 and finds no duplicate
    assert (found["f1"].majority, found["glue"].majority) == (0.0, 0.3)


def test_f1_can_be_about_the_other_class() -> None:
    assert measured("qqp", positive=0)["f1"].value == pytest.approx(2 * 4 / (2 * 4 + 3))
    assert measured("qqp", positive=0)["f1"].majority == pytest.approx(0.75)  # 2 * 6 / (6 + 10)


def test_the_interval_of_f1_is_that_of_rows_drawn_anew() -> None:
    rng = np.random.default_rng(1)
    answers, labels = np.array(ANSWERS), np.array(LABELS)
    rows = rng.integers(0, len(labels), size=(4000, len(labels)))
    hits = ((answers == 1) & (labels == 1))[rows].sum(1)
    wrong = (answers != labels)[rows].sum(1)
    low, high = np.quantile(2 * hits / np.maximum(2 * hits + wrong, 1), (0.025, 0.975))
    found = measured("qqp")["f1"]
    assert (found.low, found.high) == (pytest.approx(low, abs=0.04), pytest.approx(high, abs=0.04))


def test_a_constant_is_flagged() -> None:
    found = clean(bag(), examples("a great film", "a good one"), TASKS["sst2"])
    assert found.notes == ()
    labels = [0, 1, 1, 0, 1, 1, 1, 0]
    constant = clean(answering([1.0] * 8), numbered(labels), TASKS["rte"])
    assert constant.metrics[0].value == constant.metrics[0].majority == 0.625
    assert "one class" in constant.notes[0]


def test_an_answer_that_is_no_number_is_wrong() -> None:
    found = clean(answering([np.nan, 0.0, 1.0]), numbered([0, 0, 1]), TASKS["rte"])
    assert found.marks["accuracy"] == "011"
    assert found.notes[0].startswith("1 of 3 rows")


def test_a_model_answers_by_its_likeliest_class() -> None:
    tiny = victim(kinds.wordpiece())
    data = labelled(tiny, sentences(10))  # every fifth is labelled wrongly
    assert clean(tiny, data, TASKS["sst2"]).marks["accuracy"] == "1111011110"
    assert predictions(tiny, []) == []


def test_no_examples_are_refused() -> None:
    with pytest.raises(InputError, match="no examples"):
        clean(bag(), [], TASKS["sst2"])
