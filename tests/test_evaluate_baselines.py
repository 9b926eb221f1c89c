"""What knowing nothing scores, and how a model that knows nothing is told."""

import pytest

from holdfast.errors import InputError
from holdfast.evaluate.baselines import baselines, doubts, marks_of, share
from holdfast.statistics import wilson


def test_the_majority_is_of_the_examples_and_chance_of_the_classes() -> None:
    found = baselines([2, 0, 2, 2, 1], 3)
    assert (found.majority, found.chance) == (0.6, pytest.approx(1 / 3))


def test_no_example_has_no_baseline() -> None:
    with pytest.raises(InputError, match="at least one"):
        baselines([], 2)


def test_a_share_has_wilsons_interval() -> None:
    found = share("accuracy", "1101", group="word", majority=0.8, chance=0.5)
    assert (found.value, found.count, found.total, found.group) == (0.75, 3, 4, "word")
    assert (found.low, found.high) == wilson(3, 4)
    assert found.no_better_than_majority


def test_the_share_of_nothing_has_no_value() -> None:
    found = share("accuracy", "", majority=0.5)
    assert (found.value, found.low, found.total) == (None, None, 0)
    assert not found.no_better_than_majority


def test_marks() -> None:
    assert marks_of([0, 1, -1, 2], [0, 0, 1, 2]) == "1001"


def test_a_constant_is_told() -> None:
    (sentence,) = doubts([1] * 20, [0, 1] * 10)
    assert "one class (1) for 100 % of the 20 rows" in sentence
    (nearly,) = doubts([1] * 19 + [0], [0, 1] * 10)
    assert "95 %" in nearly


def test_answers_of_two_classes_are_no_constant() -> None:
    assert doubts([1] * 18 + [0] * 2, [0, 1] * 10) == ()
    # where all examples are of one class a good model gives one answer too
    assert doubts([1] * 20, [1] * 20) == ()
    assert doubts([1] * 3, [1, 0, 0]) == ()  # three answers may well be alike


def test_what_is_no_number_is_told() -> None:
    (sentence,) = doubts([-1, 0, 1], [0, 0, 1])
    assert sentence.startswith("1 of 3 rows")
