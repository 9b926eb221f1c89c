"""Trainings of one model: what several seeds of an attack say of one of them is one opinion.

Two seeds on the same examples are two looks at the same checkpoint; counted as two trainings they
would promise a spread over seeds that nobody has measured.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from holdfast.record import RunRecord
from holdfast.record.pooling import by_training
from holdfast.statistics import Comparison, Interval, compare, wilson

Attempts = Sequence[str]
"""Marks of one training, a text of 1 and 0 for each seed of the attack, on the same examples."""


_EQUAL = 1e-12  # differences of this size are rounding


def trainings(records: Iterable[RunRecord]) -> list[tuple[RunRecord, ...]]:
    """Return the records of each training, by its seed; those of one by the seed of the attack."""
    return [tuple(looks.values()) for looks in by_training(records).values()]


def compare_trainings(
    first: str, second: str, a: Sequence[Attempts], b: Sequence[Attempts]
) -> Comparison:
    """Compare two models as `statistics.compare` does, whatever the number of attempts."""
    one, other = _single(a), _single(b)
    if one is not None and other is not None:
        return compare(first, second, one, other)
    return _compare_means(first, second, [_means(of) for of in a], [_means(of) for of in b])


def _compare_means(
    first: str, second: str, a: Sequence[list[float]], b: Sequence[list[float]]
) -> Comparison:
    """Compare by the bootstrap alone: McNemar's test knows no example that is half right."""
    import numpy as np

    from holdfast.statistics.draws import draw

    own, others, examples = np.array(a), np.array(b), len(a[0])
    tables = [own - others] if len(a) == len(b) else [own, -others]
    draws = draw(tables, repeats=2000, seed=0)
    found = draws.interval()
    if found.low == found.high:  # nothing varies, which so few examples do not prove
        unseen = wilson(0, examples)[1]
        found = Interval(found.value, found.value - unseen, found.value + unseen)
    tipped = int((abs(own.mean(axis=0) - others.mean(axis=0)) > _EQUAL).sum())
    p = max(draws.p(), min(1.0, 2 * 0.5**tipped))  # as `statistics.compare` has it
    return Comparison(first, second, found.within(-1.0, 1.0), p, min(len(a), len(b)), examples)


def _single(marks: Sequence[Attempts]) -> list[str] | None:
    """Return a text for each training where all its attempts agree; none: some do not."""
    if any(len(set(attempts)) > 1 for attempts in marks):
        return None
    return [attempts[0] for attempts in marks]


def _means(attempts: Attempts) -> list[float]:
    """Return how often each example was right."""
    return [fmean(mark == "1" for mark in of) for of in zip(*attempts, strict=True)]
