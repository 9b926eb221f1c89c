"""A share as a command prints it: in percent, with its interval."""

from holdfast.statistics import wilson

ACCURACY = "accuracy\N{NO-BREAK SPACE}% (95\N{NO-BREAK SPACE}%)"
"""What stands above an accuracy with its interval."""


def percent_with_interval(share: float, total: int) -> str:
    """Return a share of `total` in percent with its interval: `84.0 (80.1-87.3)`."""
    low, high = wilson(round(share * total), total)
    return f"{100 * share:.1f} ({100 * low:.1f}-{100 * high:.1f})"
