"""The bootstrap itself: a mean over seeds and examples, drawn again and again.

Seeds and examples are crossed, as every seed is measured on the same examples: a draw picks seeds,
picks examples, and takes the mean where they meet (Owen, 2007). Few seeds would look surer than
they are, so that the plain bootstrap of five covers 83 % where it says 95 %. Two things mend that:

- one fewer is drawn than there are, since n drawn from n vary too little by (n - 1) / n (Rao and
  Wu, 1988);
- the draws are stretched as Student's t is against the normal distribution: by the mean of the
  quantiles that seeds and examples would have alone, each as heavy as its part of the variance
  (Cochran and Cox, 1957). One t with the degrees of freedom that both have together (Satterthwaite,
  1946) takes these parts for known: of two seeds it covers 86 to 91 %.

The p-value is Student's too: of the number against the spread of its draws. The share of the draws
beyond zero could be no smaller than the draws are many, so that of many comparisons at once none
could ever be told. Its tail is the mean of those that seeds and examples would have alone, weighed
as the quantiles are: far out, where a correction for many comparisons looks, Satterthwaite's is
many times too light for few seeds.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.statistics.interval import Interval
from holdfast.statistics.wilson import Z

Numbers = NDArray[np.float64]

_EQUAL = 1e-12  # differences of this size are rounding
_AT_ONCE = 1_000_000  # numbers drawn in one go, so that memory does not grow with the examples


class Draws(NamedTuple):
    """A number, and what it might have been with other seeds and examples."""

    value: float
    drawn: Numbers
    """One for each repeat."""
    error: float
    """The standard error: how far the draws spread before they are stretched."""
    parts: Sequence[tuple[float, int]]
    """What seeds and examples add to the variance, each with its degrees of freedom."""

    def interval(self) -> Interval:
        """Return the middle 95 % of the draws."""
        low, high = np.nanquantile(self.drawn, (0.025, 0.975))
        return Interval(self.value, min(float(low), self.value), max(float(high), self.value))

    def p(self) -> float:
        """Return how likely zero is to come out so far away: Student's two-sided p-value."""
        from scipy.special import ndtr, stdtr  # type: ignore[import-untyped]

        if abs(self.value) <= _EQUAL:
            return 1.0
        if self.error <= _EQUAL:
            return 0.0  # no draw is any other
        far, whole = -abs(self.value) / self.error, sum(share for share, _ in self.parts)
        if not whole:
            return float(2 * ndtr(far))
        return float(sum(2 * stdtr(degrees, far) * share / whole for share, degrees in self.parts))


def draw(tables: Sequence[Numbers], *, repeats: int, seed: int) -> Draws:
    """Draw the sum of the means of `tables`, each with a row a seed and a column an example.

    Seeds are picked for each table apart, examples for all of them together. What is not a number
    does not count.
    """
    value = float(sum(_mean(table) for table in tables))
    rng = np.random.default_rng(seed)
    seeds = [_weights(rng, repeats, len(table)) for table in tables]
    count = tables[0].shape[1]
    drawn, step = np.zeros(repeats), max(1, _AT_ONCE // count)
    for start in range(0, repeats, step):
        some = slice(start, min(start + step, repeats))
        examples = _picked_examples(seed, start, some.stop - start, count)
        for table, weights in zip(tables, seeds, strict=True):
            drawn[some] += _means(table, weights[some], examples)
    parts = _parts(tables)
    stretched = value + _stretch(parts) * (drawn - value)
    return Draws(value, stretched, float(np.nanstd(drawn)), parts)


@lru_cache(maxsize=4)
def _picked_examples(seed: int, start: int, repeats: int, count: int) -> Numbers:
    """Return the picks of examples, which all intervals over as many examples share."""
    found = _weights(np.random.default_rng([seed, start, count]), repeats, count)
    found.setflags(write=False)
    return found


def _weights(rng: np.random.Generator, repeats: int, count: int) -> Numbers:
    """Return how often each of `count` is picked, a row a repeat, when all but one are picked."""
    picked = rng.integers(count, size=(repeats, max(1, count - 1)))
    picked += count * np.arange(repeats)[:, None]  # so that all repeats are counted in one go
    times = np.bincount(picked.ravel(), minlength=repeats * count)
    return times.reshape(repeats, count).astype(np.float64)


def _means(table: Numbers, seeds: Numbers, examples: Numbers) -> Numbers:
    """Return the mean of the table in each repeat; not a number where nothing counts."""
    counts = ~np.isnan(table)
    found: Numbers = _total(np.where(counts, table, 0.0), seeds, examples)
    if counts.all():
        found /= seeds.sum(axis=1) * examples.sum(axis=1)  # the same, sooner
        return found
    with np.errstate(invalid="ignore"):
        found /= _total(counts.astype(np.float64), seeds, examples)
    return found


def _total(table: Numbers, seeds: Numbers, examples: Numbers) -> Numbers:
    """Return the sum of the table in each repeat, each cell as often as it was picked."""
    found: Numbers = np.einsum("rs,rs->r", seeds, examples @ table.T)
    return found


def _mean(table: Numbers) -> float:
    return float(np.nanmean(table))


def _stretch(parts: Sequence[tuple[float, int]]) -> float:
    """Return how much wider Student's t is than the normal distribution, for seeds so few."""
    from scipy.special import stdtrit

    whole = sum(share for share, _ in parts)
    if not whole:
        return 1.0  # nothing varies
    far = sum(share * float(stdtrit(degrees, 0.975)) for share, degrees in parts)
    return far / whole / Z


def _parts(tables: Sequence[Numbers]) -> list[tuple[float, int]]:
    """Return what the seeds of each table and the examples add to the variance."""
    by_seed = [_means_along(table, axis=1) for table in tables]
    by_example = np.sum([_means_along(table, axis=0) for table in tables], axis=0)
    return [part for means in (*by_seed, by_example) if (part := _variance(means))]


def _means_along(table: Numbers, axis: int) -> Numbers:
    counts = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        found: Numbers = np.where(counts, table, 0.0).sum(axis) / counts.sum(axis)
    return found


def _variance(means: Numbers) -> tuple[float, int] | None:
    """Return the variance of the mean of `means`, and its degrees of freedom."""
    known = means[~np.isnan(means)]
    if len(known) < 2:
        return None  # one seed: its spread cannot be known
    return float(known.var(ddof=1)) / len(known), len(known) - 1
