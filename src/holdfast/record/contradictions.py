"""What a record says of itself that cannot be: a number that its own marks do not give.

The record of an evaluation tells its shares three times: as a number, as so many of so many, and by
its marks. Who edits one of them by hand hardly thinks of all three. That of a training tells them
once: its run.json has neither counts nor marks, and earlier versions made the counts up.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.record.pooling import marks_of
from holdfast.record.run_record import Metric, RunRecord

ROUNDING = 5e-4
"""How far a value may be from its share: other programs may keep three digits."""
_AT_MOST = {"certified_accuracy": "accuracy_under_attack", "accuracy_under_attack": "accuracy"}
"""A metric to one of the same examples that it cannot exceed."""


def contradictions(record: RunRecord) -> Iterator[str]:
    """Yield what cannot be; what the record does not say contradicts nothing."""
    for metric in record.metrics:
        marks = marks_of(record, metric.name, metric.group)
        if is_marks(marks):
            yield from _against_marks(metric, marks)
        elif record.kind == "evaluation" and metric.count is not None and metric.total:
            yield from _against_counts(metric, metric.count, metric.total)
        yield from _against_order(record, metric)


def is_marks(value: Any) -> bool:
    """Whether a record's marks are what they should be: a 1 or 0 for at least one example."""
    return isinstance(value, str) and bool(value) and set(value) <= {"0", "1"}


def _against_marks(metric: Metric, marks: str) -> Iterator[str]:
    count, total = marks.count("1"), len(marks)
    known = metric.count in (None, count) and metric.total in (None, total)
    if not known or not _is_share(metric.value, count, total):
        yield f"its {_name(metric)} is {_told(metric)}, and its marks give {count} of {total}"


def _against_counts(metric: Metric, count: int, total: int) -> Iterator[str]:
    if not _is_share(metric.value, count, total):
        share = f"{count} of {total} is {count / total:.4g}"
        yield f"its {_name(metric)} is {_told(metric)}, and {share}"


def _against_order(record: RunRecord, metric: Metric) -> Iterator[str]:
    most = record.metric(_AT_MOST.get(metric.name, ""), metric.group)
    if most is None or metric.value is None or most.value is None or metric.total != most.total:
        return
    if metric.value > most.value + ROUNDING:
        yield (
            f"its {_name(metric)} is {_told(metric)} and its {_name(most)} {_told(most)}, which "
            "cannot be less"
        )


def _is_share(value: float | None, count: int, total: int) -> bool:
    return value is None or abs(value - count / total) <= ROUNDING


def _name(metric: Metric) -> str:
    return f"{metric.name} of {metric.group}" if metric.group else metric.name


def _told(metric: Metric) -> str:
    value = "not known" if metric.value is None else f"{metric.value:.4g}"
    return value if metric.count is None else f"{value} ({metric.count} of {metric.total})"
