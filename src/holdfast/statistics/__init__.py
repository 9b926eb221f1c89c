"""Intervals and tests: what chance leaves of a number; NumPy and SciPy only where they are used."""

from holdfast.statistics.bootstrap import (
    bootstrap_mean,
    bootstrap_shares,
    bootstrap_values,
    paired_bootstrap,
)
from holdfast.statistics.comparison import Comparison
from holdfast.statistics.comparisons import compare, compare_all
from holdfast.statistics.holm import holm
from holdfast.statistics.independent import independent
from holdfast.statistics.interval import Interval
from holdfast.statistics.mcnemar import mcnemar
from holdfast.statistics.wilson import wilson

__all__ = [
    "Comparison",
    "Interval",
    "bootstrap_mean",
    "bootstrap_shares",
    "bootstrap_values",
    "compare",
    "compare_all",
    "holm",
    "independent",
    "mcnemar",
    "paired_bootstrap",
    "wilson",
]
