"""Differences over several tasks: what their mean says, and of whom."""

import math

import pytest

from holdfast.evaluate.comparing import Finding, Group
from holdfast.statistics import Comparison, Interval


@pytest.fixture(scope="module")
def over_tasks(script):
    return script("over_tasks").over_tasks


def found(model: str, task: str, value: float, reach: float, p: float = 0.5) -> Finding:
    difference = Interval(value, value - reach, value + reach)
    made = Comparison(model, "BERT", difference, p, seeds=3, examples=50)
    return Finding(Group(task, None, None, {}), "accuracy", made)


def clean(_: Finding) -> str:
    return "clean"


def test_what_independent_tasks_leave_open_partly_cancels(over_tasks):
    cells = over_tasks([found("A", "qqp", 0.1, 0.03), found("A", "rte", 0.2, 0.04)], clean)
    mean = cells["A", "clean"].difference
    assert mean.value == pytest.approx(0.15)
    assert mean.high - mean.value == pytest.approx(math.hypot(0.03, 0.04) / 2)


def test_two_parts_of_a_task_are_of_the_same_models_and_do_not_cancel(over_tasks):
    parts = [found("A", f"advglue/{part}", 0.1, 0.04) for part in ("mnli", "mnli-mm")]
    mean = over_tasks(parts, clean)["A", "clean"].difference
    assert mean.high - mean.value == pytest.approx(0.04)


def test_a_model_that_lacks_a_task_has_no_mean(over_tasks):
    both = [found("A", task, 0.1, 0.03) for task in ("qqp", "rte")]
    assert set(over_tasks([*both, found("B", "qqp", 0.1, 0.03)], clean)) == {("A", "clean")}


def test_a_model_that_lacks_a_part_of_a_task_has_no_mean(over_tasks):
    """It would be a mean over other texts."""
    parts = ("advglue/mnli", "advglue/mnli-mm", "advglue/rte")
    whole = [found("A", part, 0.1, 0.03) for part in parts]
    less = [found("B", part, 0.1, 0.03) for part in parts if not part.endswith("mm")]
    assert set(over_tasks([*whole, *less], clean)) == {("A", "clean")}


def test_chances_are_corrected_for_all_means_together(over_tasks):
    """An interval that just holds zero is one chance in twenty; of two such means, one in ten."""
    models = [found(model, task, 0.1, 0.1 * 2**0.5) for model in "AB" for task in ("qqp", "rte")]
    cells = over_tasks(models, clean)
    assert [c.p for c in cells.values()] == pytest.approx([0.1, 0.1], abs=1e-3)
    assert {c.corrected_for for c in cells.values()} == {2}


def test_a_task_that_has_all_of_the_spread_is_no_more_than_its_few_seeds(over_tasks):
    """Its interval is 4.3 spreads of three seeds wide: the mean is 8.6 off, which is p = 0.013."""
    wide, sure = found("A", "rte", 0.2, 0.1), found("A", "qqp", 0.0, 1e-6)
    assert over_tasks([wide, sure], clean)["A", "clean"].p == pytest.approx(0.0133, abs=5e-4)


def test_of_one_task_nothing_is_changed(over_tasks):
    one = found("A", "sst2", 0.1, 0.03, p=0.04)
    assert over_tasks([one], clean) == {("A", "clean"): one.comparison}
