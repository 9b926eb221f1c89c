"""What a part of an evaluation hands back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.record import Metric, Series


@dataclass(frozen=True)
class Measured:
    """Numbers, and what a reader must know about them."""

    metrics: tuple[Metric, ...]
    marks: Mapping[str, str] = field(default_factory=dict)
    """Metric to which examples were right: a 1 or 0 each, in the order of the examples; of a
    metric with a group under `mark_key`."""
    series: tuple[Series, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences: what was left out, what is suspicious."""


def mark_key(name: str, group: str) -> str:
    """Return the name under which the marks of a metric stand."""
    return f"{name}/{group}" if group else name
