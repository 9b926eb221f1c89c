"""The interval of a mean whose parts have nothing to do with each other."""

import math
from collections.abc import Sequence

from holdfast.statistics.interval import Interval


def independent(parts: Sequence[Interval], shares: Sequence[float]) -> Interval:
    """Return the interval of a mean of independent parts: their reaches add up in squares."""
    pairs = list(zip([share / sum(shares) for share in shares], parts, strict=True))
    middle = sum(share * part.value for share, part in pairs)
    below = math.hypot(*(share * (part.value - part.low) for share, part in pairs))
    above = math.hypot(*(share * (part.high - part.value) for share, part in pairs))
    return Interval(middle, middle - below, middle + above)
