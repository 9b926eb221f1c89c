"""Comparisons: exact tests against SciPy and by hand, and the sentences people read."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from holdfast.errors import InputError
from holdfast.statistics import Comparison, Interval, compare, compare_all, holm, mcnemar

pairs = st.lists(st.tuples(st.sampled_from("01"), st.sampled_from("01")), min_size=1, max_size=60)
chances = st.lists(st.floats(0, 1), max_size=8)


def marked(share: float, seed: int, seeds: int = 5, examples: int = 400) -> list[str]:
    hard = np.random.default_rng(0).normal(size=examples)
    noise = 0.5 * np.random.default_rng(seed).normal(size=(seeds, examples))
    return ["".join("01"[int(mark)] for mark in row) for row in hard + noise < share]


# McNemar, Holm --------------------------------------------------------------------------------


def test_mcnemar_by_hand() -> None:
    """Of 6 examples that tip, 1 tips the first way: 2 (1 + 6) / 2^6."""
    assert mcnemar("1111" + "1" + "00000", "1111" + "0" + "11111") == pytest.approx(14 / 64)
    assert mcnemar("1" * 5, "0" * 5) == pytest.approx(2 / 32)


@given(pairs)
def test_mcnemar_is_the_sign_test_of_the_examples_that_tip(found: list[tuple[str, str]]) -> None:
    a, b = ("".join(marks) for marks in zip(*found, strict=True))
    first, second = found.count(("1", "0")), found.count(("0", "1"))
    fewer = stats.binom.cdf(min(first, second), first + second, 0.5)
    assert mcnemar(a, b) == pytest.approx(min(1.0, 2 * fewer))
    assert mcnemar(a, b) == pytest.approx(mcnemar(b, a))
    assert 0 <= mcnemar(a, b) <= 1
    assert mcnemar(a + "10", b + "10") == pytest.approx(mcnemar(a, b))  # agreeing says nothing


def test_more_examples_that_tip_one_way_are_less_chance() -> None:
    found = [mcnemar("1" * n, "0" * n) for n in range(1, 20)]
    assert found == sorted(found, reverse=True)
    assert mcnemar("1100", "1100") == 1


def test_holm_by_hand() -> None:
    """Holm's own steps: 4 x 0.005, 3 x 0.01, 2 x 0.03, and the last not below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(chances)
def test_holm_keeps_the_order_and_lies_between_nothing_and_bonferroni(p: list[float]) -> None:
    corrected = holm(p)
    for one, after in zip(p, corrected, strict=True):
        assert one <= after <= min(1.0, len(p) * one)
    order = np.argsort(p, kind="stable")
    assert list(np.array(corrected)[order]) == sorted(corrected)
    if p:
        assert min(corrected) == pytest.approx(min(1.0, len(p) * min(p)))


@given(chances, st.floats(0.001, 0.2))
def test_holm_rejects_what_its_steps_reject(p: list[float], level: float) -> None:
    rejected = 0
    for rank, one in enumerate(sorted(p)):
        if (len(p) - rank) * one > level:
            break
        rejected += 1
    assert sum(after <= level for after in holm(p)) == rejected


# Comparisons ----------------------------------------------------------------------------------


def test_one_seed_is_tested_by_mcnemar() -> None:
    a, b = "1" * 40 + "1" * 12 + "0" * 8, "1" * 40 + "0" * 12 + "0" * 8
    found = compare("A", "B", [a], [b])
    assert found.p == mcnemar(a, b) == pytest.approx(2 / 2**12)
    assert found.difference.value == pytest.approx(0.2)
    assert (found.seeds, found.examples, found.corrected_for) == (1, 60, 1)
    assert found.significant


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 3), st.data())
def test_a_comparison_is_the_same_from_both_sides(
    examples: int, first: int, second: int, data: st.DataObject
) -> None:
    row = st.text("01", min_size=examples, max_size=examples)
    a = data.draw(st.lists(row, min_size=first, max_size=first))
    b = data.draw(st.lists(row, min_size=second, max_size=second))
    one, other = compare("A", "B", a, b, repeats=200), compare("B", "A", b, a, repeats=200)
    assert 0 < one.p <= 1
    if first == second:  # or the seeds are drawn in another order
        assert one.p == pytest.approx(other.p)
        mirrored = -other.difference
        assert (one.difference.low, one.difference.high) == pytest.approx(
            (mirrored.low, mirrored.high)
        )
    assert compare("A", "A", a, a, repeats=200).p == 1
    assert one.seeds == min(first, second)


def test_an_interval_without_zero_and_a_small_p_go_together() -> None:
    """But at the edge, where p is a little more careful about few seeds."""
    for share in (0.42, 0.45, 0.5, 0.55, 0.6):
        found = compare("A", "B", marked(share, 1), marked(0.4, 2))
        without_zero = found.difference.low > 0 or found.difference.high < 0
        assert without_zero == (found.p < 0.05) or 0.05 < found.p < 0.08


def test_equal_models_are_rarely_told_apart() -> None:
    """At a level of 5 %; of 100 such pairs more than 11 come out once in 200 times."""
    told = [
        compare("A", "B", marked(0.5, 2 * n), marked(0.5, 2 * n + 1), repeats=300).significant
        for n in range(100)
    ]
    assert sum(told) <= 11


@pytest.mark.parametrize(("first", "second"), [(2, 2), (3, 3), (5, 5), (5, 3)])
def test_p_is_calibrated_where_there_is_no_difference(first: int, second: int) -> None:
    """Trainings differ by chance, as do examples: 5 % of such pairs have a p below 5 %.

    Far out too, where the correction for many comparisons looks.
    """
    rng = np.random.default_rng(7)

    def trained(hard: np.ndarray, seeds: int) -> list[str]:
        luck, noise = 0.3 * rng.normal(size=(seeds, 1)), rng.normal(size=(seeds, len(hard)))
        return ["".join("01"[int(mark)] for mark in row) for row in hard + luck + noise < 0.5]

    found = []
    for _ in range(400):
        hard = rng.normal(size=300)
        a, b = trained(hard, first), trained(hard, second)
        found.append(compare("A", "B", a, b, repeats=200).p)
    assert 0.01 <= np.mean(np.array(found) < 0.05) <= 0.07
    assert np.mean(np.array(found) < 0.01) <= 0.025
    assert 0.2 <= np.mean(np.array(found) < 0.4) <= 0.5


def test_a_great_difference_is_told_among_very_many() -> None:
    """However few the draws: the share of draws beyond zero could not be below 2 in 401."""
    models = {f"model {n}": marked(0.0, n) for n in range(60)}
    found = compare_all(models | {"best": marked(0.9, 99)}, "best", repeats=400)
    assert {one.corrected_for for one in found} == {60}
    assert all(one.significant for one in found)


def test_examples_that_nobody_gets_another_way_add_nothing() -> None:
    """Four that tip are four, among however many others: McNemar's test says the same."""
    a, b = "1" * 4 + "0" * 96, "0" * 100
    assert compare("A", "B", [a] * 3, [b] * 3).p == pytest.approx(2 / 2**4) == mcnemar(a, b)


def test_no_seeds_make_up_for_few_examples() -> None:
    found = compare("A", "B", ["1111"] * 5, ["0000"] * 5)
    assert found.p == pytest.approx(2 / 2**4)  # what McNemar's test makes of four examples at most
    assert not found.significant


def test_many_are_corrected_together() -> None:
    models = {"plain": marked(0.4, 1), "rift": marked(0.6, 2), "other": marked(0.41, 3)}
    found = compare_all(models, "plain")
    alone = [compare(name, "plain", models[name], models["plain"]) for name in ("rift", "other")]
    assert [(one.first, one.second) for one in found] == [("rift", "plain"), ("other", "plain")]
    assert [one.p for one in found] == holm([one.p for one in alone])
    assert [one.difference for one in found] == [one.difference for one in alone]
    assert {one.corrected_for for one in found} == {2}
    assert compare_all({"plain": models["plain"]}, "plain") == []


# Sentences ------------------------------------------------------------------------------------


def sentence(
    value: float, low: float, high: float, p: float, seeds: int = 5, examples: int = 1000, many=1
) -> str:
    return Comparison("A", "B", Interval(value, low, high), p, seeds, examples, many).sentence()


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            sentence(0.041, 0.012, 0.07, 0.006),
            "A is better by 4.1 points, 95 % interval 1.2 to 7.0, p = 0.006, 5 seeds",
        ),
        (
            sentence(-0.041, -0.07, -0.012, 0.006),
            "B is better by 4.1 points, 95 % interval 1.2 to 7.0, p = 0.006, 5 seeds",
        ),
        (
            sentence(0.041, 0.012, 0.07, 0.0001),
            "A is better by 4.1 points, 95 % interval 1.2 to 7.0, p < 0.001, 5 seeds",
        ),
        (
            sentence(0.041, 0.012, 0.07, 0.006, seeds=1),
            "A is better by 4.1 points, 95 % interval 1.2 to 7.0, p = 0.006, 1 seed: no spread "
            "over seeds can be given",
        ),
        (
            sentence(0.041, 0.012, 0.07, 0.012, many=3),
            "A is better than B by 4.1 points, 95 % interval 1.2 to 7.0, p = 0.012 (corrected for "
            "3 comparisons), 5 seeds",
        ),
        (
            sentence(-0.455, -0.537, -0.38, 0.092, seeds=3, many=51),
            "B is ahead of A by 45.5 points, but among 51 comparisons chance may do that, 95 % "
            "interval 38.0 to 53.7, p = 0.092 (corrected for 51 comparisons), 3 seeds",
        ),
        (
            sentence(0.008, -0.015, 0.031, 0.49),
            "No difference between A and B can be told: A is ahead by 0.8 points, 95 % interval "
            "-1.5 to 3.1, p = 0.49, 5 seeds",
        ),
        (
            sentence(-0.008, -0.031, 0.015, 0.49, seeds=1),
            "No difference between A and B can be told: B is ahead by 0.8 points, 95 % interval "
            "-1.5 to 3.1, p = 0.49, 1 seed: no spread over seeds can be given",
        ),
        (
            sentence(0.0, -0.02, 0.02, 1.0),
            "No difference between A and B can be told: they score the same, 95 % interval -2.0 to "
            "2.0, p = 1.00, 5 seeds",
        ),
        (
            sentence(0.25, 0.05, 0.45, 0.125, examples=12),
            "No difference between A and B can be told: A is ahead by 25.0 points, 95 % interval "
            "5.0 to 45.0, p = 0.12, 12 examples only, 5 seeds",
        ),
        (
            sentence(1.0, 0.2, 1.0, 1.0, seeds=1, examples=1),
            "No difference between A and B can be told: A is ahead by 100.0 points, 95 % interval "
            "20.0 to 100.0, p = 1.00, 1 example only, 1 seed: no spread over seeds can be given",
        ),
        (
            sentence(0.0003, 0.0001, 0.0005, 0.001),
            "A is better by 0.03 points, 95 % interval 0.01 to 0.1, p = 0.001, 5 seeds",
        ),
    ],
)
def test_sentences(told: str, expected: str) -> None:
    assert told == expected


def test_a_small_p_beside_an_interval_with_zero_tells_nothing() -> None:
    assert "No difference" in sentence(0.02, -0.001, 0.04, 0.04)
    assert "No difference" in sentence(0.02, 0.001, 0.04, 0.06)  # nor the other way round


def test_the_sentence_of_real_marks() -> None:
    found = compare("rift", "plain", marked(0.6, 1), marked(0.4, 2))
    assert found.sentence().startswith("rift is better by ")
    assert found.sentence().endswith(", 5 seeds")


# Mistakes -------------------------------------------------------------------------------------


def test_other_examples_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="A has marks of 3 examples and B of 2; only models that"):
        compare("A", "B", ["101"], ["10"])
    with pytest.raises(InputError, match="marks of 3 examples and the second of 2"):
        mcnemar("101", "10")
    with pytest.raises(InputError, match="rift has marks of 2 examples and plain of 3"):
        compare_all({"plain": ["101"], "rift": ["10"]}, "plain")


def test_other_tasks_cannot_be_compared() -> None:
    marks = ["101"]
    same = compare("A", "B", marks, marks, measured_on=("sst2", "sst2"))
    assert same == compare("A", "B", marks, marks)
    with pytest.raises(InputError, match="A was measured on sst2 and B on imdb; only models that"):
        compare("A", "B", marks, marks, measured_on=("sst2", "imdb"))
    places = {"plain": "sst2 (data 1)", "rift": "sst2 (data 2)"}
    with pytest.raises(InputError, match=r"rift was measured on sst2 \(data 2\) and plain on"):
        compare_all(dict.fromkeys(places, marks), "plain", measured_on=places)


def test_an_unknown_model_to_compare_with_is_told() -> None:
    with pytest.raises(InputError, match=r"no model 'plan' .* choose one of: plain, rift"):
        compare_all({"plain": ["1"], "rift": ["1"]}, "plan")


def test_marks_of_nobody_are_told() -> None:
    with pytest.raises(InputError, match="The marks of B are empty"):
        compare("A", "B", ["1"], [])
