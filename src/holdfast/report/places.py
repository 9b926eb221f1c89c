"""Which records are meant, in a few words: `plain, seeds 0 and 1: sst2 under pwws_rift`."""

from collections import defaultdict
from collections.abc import Iterable

from holdfast.record import RunRecord
from holdfast.report.numbers import joined

_MOST = 6
"""Places that are named; of more it is told how many there are."""


def where(record: RunRecord) -> str:
    """Return which record is meant."""
    return places([record])


def places(records: Iterable[RunRecord]) -> str:
    """Return which records are meant, those that differ in the seed alone as one."""
    seeds: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for record in records:
        own = () if record.seed is None else (record.seed,)
        seeds[record.model, record.task, record.attack or ""].update(own)
    told = [_place(*of, sorted(known)) for of, known in seeds.items()]
    more = [f"{len(told) - _MOST} more"] if len(told) > _MOST else []
    return "; ".join((*told[:_MOST], *more))


def _place(model: str, task: str, attack: str, seeds: list[int]) -> str:
    trained = f", seed{'s' * (len(seeds) > 1)} {joined(list(map(str, seeds)))}" if seeds else ""
    return f"{model}{trained}: {task}{f' under {attack}' if attack else ''}"
