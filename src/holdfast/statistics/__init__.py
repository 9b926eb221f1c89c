"""Intervals and tests: what chance leaves of a difference; SciPy only where it is used."""

from holdfast.statistics.wilson import wilson

__all__ = ["wilson"]
