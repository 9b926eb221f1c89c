"""The interval that belongs to a share: Wilson's, at 95 %."""

import math

ACCURACY = "accuracy\N{NO-BREAK SPACE}% (95\N{NO-BREAK SPACE}%)"
"""What stands above an accuracy with its interval."""

Z = 1.959964  # two-sided 95 % of the normal distribution


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927); it stays within 0 and 1."""
    if total == 0:
        return 0.0, 1.0
    share, weight = successes / total, Z**2 / total
    centre = share + weight / 2
    spread = Z * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    return (centre - spread) / (1 + weight), (centre + spread) / (1 + weight)


def percent_with_interval(share: float, total: int) -> str:
    """Return a share of `total` in percent with its interval: `84.0 (80.1-87.3)`."""
    low, high = wilson(round(share * total), total)
    return f"{100 * share:.1f} ({100 * low:.1f}-{100 * high:.1f})"
