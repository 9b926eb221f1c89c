"""The interval of one share: Wilson's, at 95 %."""

import math

Z = 1.959964  # two-sided 95 % of the normal distribution


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of `count` of `total` (Wilson, 1927); it stays within 0 and 1."""
    if total == 0:
        return 0.0, 1.0
    share, weight = count / total, Z**2 / total
    centre = share + weight / 2
    spread = Z * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    low, high = (centre - spread) / (1 + weight), (centre + spread) / (1 + weight)
    return max(0.0, low), min(1.0, high)
