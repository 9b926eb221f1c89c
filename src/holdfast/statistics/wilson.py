"""The interval of one share: Wilson's, at 95 %."""

import math

from holdfast.errors import InputError

Z = 1.959964  # two-sided 95 % of the normal distribution


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of `count` of `total` (Wilson, 1927); it stays within 0 and 1."""
    if not 0 <= count <= total:
        raise InputError(f"{count} of {total} is no share; expected a count from 0 to the total.")
    if total == 0:
        return 0.0, 1.0
    share, weight = count / total, Z**2 / total
    centre = share + weight / 2
    spread = Z * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    low, high = (centre - spread) / (1 + weight), (centre + spread) / (1 + weight)
    return (0.0 if count == 0 else low), (1.0 if count == total else high)
