"""Intervals: Wilson's against SciPy's, the bootstrap against theory, by hand and by coverage."""

import math
import subprocess
import sys
from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from holdfast.errors import InputError
from holdfast.statistics import (
    Interval,
    bootstrap_mean,
    bootstrap_values,
    paired_bootstrap,
    wilson,
)
from holdfast.statistics.draws import draw


def rows(table: np.ndarray) -> list[str]:
    return ["".join("01"[int(mark)] for mark in row) for row in table]


# Wilson ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "total"), [(0, 1), (1, 1), (0, 9), (8, 10), (437, 1000)])
def test_wilson_is_scipys(count: int, total: int) -> None:
    known = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert wilson(count, total) == pytest.approx((known.low, known.high), abs=1e-7)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_its_share_and_is_symmetric(share: tuple[int, int]) -> None:
    count, total = share
    low, high = wilson(count, total)
    assert 0 <= low <= count / total <= high <= 1
    assert wilson(total - count, total) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    assert (low == 0) == (count == 0)
    assert (high == 1) == (count == total)


def test_nothing_measured_leaves_everything_open() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("count", "total"), [(3, 2), (-1, 2), (0, -1)])
def test_more_than_all_is_no_share(count: int, total: int) -> None:
    with pytest.raises(InputError, match=f"{count} of {total} is no share"):
        wilson(count, total)


# Bootstrap ------------------------------------------------------------------------------------

marks = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.text("01", min_size=n, max_size=n), min_size=1, max_size=4)
)


@settings(max_examples=50)
@given(marks)
def test_an_interval_holds_its_mean(found: list[str]) -> None:
    interval = bootstrap_mean(found, repeats=200)
    assert interval.value == pytest.approx(np.mean([row.count("1") / len(row) for row in found]))
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high  # so few examples leave something open


@settings(max_examples=50)
@given(marks)
def test_right_and_wrong_are_mirrored(found: list[str]) -> None:
    wrong = [row.translate(str.maketrans("01", "10")) for row in found]
    one, other = bootstrap_mean(found, repeats=200), bootstrap_mean(wrong, repeats=200)
    assert (1 - other.high, 1 - other.low) == pytest.approx((one.low, one.high))


def test_one_seed_is_one_share() -> None:
    assert bootstrap_mean(["1101"]) == Interval(0.75, *wilson(3, 4))


def test_marks_that_never_vary_leave_open_what_so_few_examples_do() -> None:
    assert bootstrap_mean(["1" * 9] * 3) == Interval(1.0, pytest.approx(wilson(9, 9)[0]), 1.0)
    assert bootstrap_mean(["0" * 9] * 3) == Interval(0.0, 0.0, pytest.approx(wilson(0, 9)[1]))


def test_one_seed_of_numbers_has_the_error_of_a_mean() -> None:
    """Hand computed: s / sqrt(n), which n - 1 draws of n give exactly; Student's t of n - 1."""
    values = np.random.default_rng(0).exponential(size=50)
    found = bootstrap_values([values.tolist()], repeats=50_000)
    known = stats.ttest_1samp(values, 0).confidence_interval()
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(known.high - known.low, rel=0.02)
    assert found.high - found.value > found.value - found.low  # skewed as the numbers are


def test_the_draws_of_one_seed_are_scipys_bootstrap() -> None:
    values = np.random.default_rng(1).exponential(size=400)
    found = bootstrap_values([values.tolist()], repeats=20_000)
    options = {"n_resamples": 20_000, "method": "percentile", "rng": np.random.default_rng(2)}
    known = stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert (found.low, found.high) == pytest.approx((known.low, known.high), rel=0.01)


def test_seeds_that_differ_widen_the_interval() -> None:
    """Hand computed: four seeds that are 0.2 apart, thousands of examples that never differ."""
    shares = (0.2, 0.4, 0.6, 0.8)
    table = [[share] * 50 for share in shares]
    draws = draw([np.array(table)], repeats=100_000, seed=0)
    error = np.std(shares, ddof=1) / 2
    stretch = stats.t.ppf(0.975, df=3) / stats.norm.ppf(0.975)
    assert np.std(draws.drawn) == pytest.approx(stretch * error, rel=0.01)
    assert bootstrap_values(table).value == pytest.approx(0.5)


def test_a_number_that_is_missing_does_not_count() -> None:
    whole = bootstrap_values([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    holed = bootstrap_values([[1.0, math.nan, 3.0], [2.0, 3.0, math.nan]])
    assert holed.value == pytest.approx((1 + 3 + 2 + 3) / 4)
    assert whole.value == pytest.approx(2.5)
    assert holed.low <= holed.value <= holed.high
    assert bootstrap_values([[5.0, math.nan, math.nan]]) == Interval(5.0, 5.0, 5.0)


@settings(max_examples=30)
@given(marks, st.data())
def test_a_difference_is_the_same_from_both_sides(a: list[str], data: st.DataObject) -> None:
    row = st.text("01", min_size=len(a[0]), max_size=len(a[0]))
    b = data.draw(st.lists(row, min_size=1, max_size=4))
    one, other = paired_bootstrap(a, b, repeats=200), paired_bootstrap(b, a, repeats=200)
    assert -1 <= one.low <= one.value <= one.high <= 1
    assert other.value == pytest.approx(-one.value)
    if len(a) == len(b):  # or the seeds are drawn in another order
        assert (other.low, other.high) == pytest.approx(((-one).low, (-one).high))
    assert paired_bootstrap(a, a, repeats=200).value == 0


def test_pairs_are_surer_than_two_samples_apart() -> None:
    rng = np.random.default_rng(3)
    easy = rng.normal(size=300)
    a, b = ([easy + shift + rng.normal(0, 0.2, (3, 300)) > 0] for shift in (0.5, 0.3))
    one, other = rows(a[0]), rows(b[0])
    found = paired_bootstrap(one, other)
    shuffled = paired_bootstrap(one, [row[1:] + row[:1] for row in other])
    assert found.high - found.low < 0.7 * (shuffled.high - shuffled.low)


def test_the_same_seed_draws_the_same() -> None:
    table = rows(np.random.default_rng(4).random((3, 60)) < 0.6)
    assert bootstrap_mean(table, seed=1) == bootstrap_mean(table, seed=1)
    assert bootstrap_mean(table, seed=1) != bootstrap_mean(table, seed=2)


def test_how_many_are_drawn_in_one_go_changes_nothing(monkeypatch) -> None:
    table = rows(np.random.default_rng(5).random((3, 60)) < 0.6)
    whole = bootstrap_mean(table)
    monkeypatch.setattr("holdfast.statistics.draws._AT_ONCE", 7 * 60)
    in_parts = bootstrap_mean(table)
    assert (in_parts.low, in_parts.high) == pytest.approx((whole.low, whole.high), abs=0.02)


def coverage(
    make: Callable[[np.random.Generator], tuple[list[str], list[str]]], trials: int = 300
) -> float:
    """How often the interval of a difference that is zero holds zero."""
    rng = np.random.default_rng(6)
    found = [paired_bootstrap(*make(rng), repeats=400) for _ in range(trials)]
    return float(np.mean([one.low <= 0 <= one.high for one in found]))


def two_models(rng: np.random.Generator, seeds: int, spread: float) -> tuple[list[str], list[str]]:
    """Two equal models: examples that are hard for both, seeds that turn out well or badly."""
    hard = 0.7 * rng.normal(size=120)

    def marked() -> list[str]:
        turned_out = spread * rng.normal(size=(seeds, 1))
        return rows(hard + 0.5 + turned_out + 0.7 * rng.normal(size=(seeds, 120)) > 0)

    return marked(), marked()


# 300 trials: 95 % comes out between 91.5 and 98.5 in all but 1 of 200 cases.
@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (2, 0.6), (3, 0.6), (5, 0.6)])
def test_the_interval_covers_what_it_says(seeds: int, spread: float) -> None:
    assert 0.915 <= coverage(lambda rng: two_models(rng, seeds, spread)) <= 0.985


@pytest.mark.parametrize(("seeds", "spread"), [(2, 0.6), (3, 0.6), (5, 0.6)])
def test_the_interval_of_a_mean_covers_what_it_says(seeds: int, spread: float) -> None:
    """Few seeds too, whose spread is hardly known: one t for all that varies covers 88 and 91 %."""
    rng = np.random.default_rng(6)
    truth = stats.norm.cdf(0.5 / math.sqrt(0.7**2 + 0.7**2 + spread**2))
    found = [bootstrap_mean(two_models(rng, seeds, spread)[0], repeats=400) for _ in range(300)]
    assert 0.915 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.985


def test_one_seed_says_nothing_of_other_seeds() -> None:
    """Why the sentence says so: the interval covers the choice of examples alone."""
    assert coverage(lambda rng: two_models(rng, 1, 0.6), trials=60) < 0.6


# Mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([], "empty; expected a 1 or 0 for at least one example"),
        ([""], "empty; expected a 1 or 0 for at least one example"),
        (["10", "101"], "of 2 examples for one seed and of 3 for another"),
        (["1x"], "hold 'x'; expected a 1 or 0"),
        (["1\uff11"], "hold '\uff11'; expected a 1 or 0"),  # a digit, but not these
        ("101", "one text; expected a list"),
    ],
)
def test_what_is_no_marks_is_told(found: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        bootstrap_mean(found)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "of no examples; expected one for each example and seed"),
        ([[1.0], [1.0, 2.0]], "of 1 or 2 examples; expected one"),
        ([[]], "no mean"),
        ([[math.nan]], "no mean"),
        ([[1.0, math.inf]], "no mean"),
    ],
)
def test_numbers_without_a_mean_are_told(values: list[list[float]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        bootstrap_values(values)


def test_statistics_come_without_torch_and_their_names_without_numpy() -> None:
    code = (
        "import sys, holdfast.statistics as s; print('numpy' in sys.modules);"
        "s.compare('A', 'B', ['1100'], ['1000']); print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
