"""Bootstrap intervals over training seeds and examples, at 95 %.

How they are drawn stands in `holdfast.statistics.draws`, which is imported where it is used: who
only reads records does not wait for NumPy. One seed: the interval tells what chance does to the
choice of examples, and nothing of how another seed would have turned out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import InputError
from holdfast.statistics.interval import Interval
from holdfast.statistics.marks import examples_of, require_same_examples
from holdfast.statistics.wilson import wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 2000


def bootstrap_mean(marks: Sequence[str], *, repeats: int = REPEATS, seed: int = 0) -> Interval:
    """Return the mean of marks, one text of 1 and 0 for each seed, all about the same examples.

    One seed is one share, and has Wilson's interval.
    """
    count = examples_of(marks)
    if len(marks) == 1:
        right = marks[0].count("1")
        return Interval(right / count, *wilson(right, count))
    from holdfast.statistics.draws import draw

    found = draw([_table(marks)], repeats=repeats, seed=seed).interval()
    return _sound(found, count).within(0.0, 1.0)


def bootstrap_values(
    values: Sequence[Sequence[float]], *, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """Return the mean of numbers, one for each example; not a number: that example has none.

    So the queries of an attack have a number for each example that was attacked.
    """
    import numpy as np

    from holdfast.statistics.draws import draw

    if len(lengths := sorted({len(row) for row in values})) != 1:
        raise InputError(
            f"There are numbers of {' or '.join(map(str, lengths)) or 'no'} examples; expected one "
            "for each example and seed, with nan for an example that has none."
        )
    table = np.array(values, dtype=np.float64)
    if not np.isfinite(table).any() or np.isinf(table).any():
        raise InputError("The numbers have no mean; expected at least one, and none infinite.")
    return draw([table], repeats=repeats, seed=seed).interval()


def bootstrap_shares(
    shares: Sequence[Sequence[float]], *, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """Return the mean of shares from 0 to 1, one for each example, such as the mean of its marks.

    The interval stays within 0 and 1, and leaves something open where all examples are alike.
    """
    found = bootstrap_values(shares, repeats=repeats, seed=seed)
    return _sound(found, len(shares[0])).within(0.0, 1.0)


def paired_bootstrap(
    a: Sequence[str], b: Sequence[str], *, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """Return how much higher the mean of `a` is than that of `b`, paired by example.

    Where both have equally many seeds they are paired by seed too, in the order given.
    """
    return difference(a, b, repeats=repeats, seed=seed)[0]


def difference(
    a: Sequence[str], b: Sequence[str], *, repeats: int = REPEATS, seed: int = 0
) -> tuple[Interval, float]:
    """Return the interval of the difference and its two-sided p-value, from the same draws."""
    from holdfast.statistics.draws import draw

    count = require_same_examples("The first model", "the second", a, b)
    first, second = _table(a), _table(b)
    tables = [first - second] if len(first) == len(second) else [first, -second]
    draws = draw(tables, repeats=repeats, seed=seed)
    return _sound(draws.interval(), count).within(-1.0, 1.0), draws.p()


def _table(marks: Sequence[str]) -> "NDArray[np.float64]":
    import numpy as np

    rows = [np.frombuffer(row.encode(), dtype=np.uint8) for row in marks]
    return np.array(rows, dtype=np.float64) - ord("0")


def _sound(found: Interval, examples: int) -> Interval:
    """Return the interval; where nothing varies, it leaves open what so few examples leave open."""
    if found.low < found.high:
        return found
    unseen = wilson(0, examples)[1]  # so many might be otherwise, though none of these is
    return Interval(found.value, found.value - unseen, found.value + unseen)
