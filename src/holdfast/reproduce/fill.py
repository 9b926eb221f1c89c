"""From records to the places of a table: means over seeds, with what chance leaves open."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.record import Metric, RunRecord, find_records
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.table import Place, Source
from holdfast.statistics import Interval, bootstrap_mean

SCALES = {"%": 100.0, "M": 1e-6}
"""Unit to what a record's number is multiplied by."""


@dataclass(frozen=True)
class Value:
    """A number as it was measured, with its interval where one can be given."""

    value: float
    low: float | None = None
    high: float | None = None
    seeds: int = 1
    examples: int | None = None
    majority: float | None = None

    @property
    def below_majority(self) -> bool:
        """Whether always answering the most frequent class would have scored more."""
        return self.majority is not None and self.value < self.majority

    def scaled(self, by: float) -> "Value":
        """Return the same in another unit."""
        numbers = (self.value, self.low, self.high, self.majority)
        value, low, high, majority = (None if n is None else n * by for n in numbers)
        return Value(float(value or 0.0), low, high, self.seeds, self.examples, majority)


class Shelf:
    """The records of some cells, by model, task and attack."""

    def __init__(self, records: Iterable[RunRecord]) -> None:
        self._known: dict[tuple[str, ...], list[RunRecord]] = defaultdict(list)
        for record in records:
            self._known[_key(record.kind, record.model, record.task, record.attack)].append(record)

    @classmethod
    def of_cells(cls, folder: Path, cells: Sequence[Cell]) -> "Shelf":
        """Read what the folder of records has of these cells; others may lie beside them."""
        return cls(record for _, record in records_of(folder, cells))

    def find(self, source: Source) -> Value | None:
        """Return the number of a source, over all seeds that have it."""
        if source.along is not None:
            records = self._known[_key("training", source.row, source.task, None)]
            points = [_point(record, source) for record in records]
            return over_seeds([Metric(source.metric, point) for point in points])
        records = self._known[_key("evaluation", source.row, source.task, source.attack)]
        found = [(r, metric) for r in records if (metric := r.metric(source.metric, source.group))]
        known = [(r, metric) for r, metric in found if metric.value is not None]
        value = over_seeds([metric for _, metric in known])
        name = f"{source.metric}/{source.group}" if source.group else source.metric
        marks = [record.marks.get(name, "") for record, _ in known]
        same = {record.checksums.get("data") for record, _ in known}
        if value is None or not all(marks) or len(same) > 1 or len(set(map(len, marks))) > 1:
            return value
        interval = bootstrap_mean(marks)  # seeds and examples are drawn anew, both
        return replace(value, value=interval.value, low=interval.low, high=interval.high)

    def fill(self, place: Place) -> Value | None:
        """Return what stands at a place, in its unit; none unless all of its sources are there."""
        if place.computed is not None:
            return Value(place.computed)
        if place.of:
            return mean([self.fill(other) for other in place.of])
        found = mean([self.find(source) for source in place.sources], weighted=place.weighted)
        return None if found is None else found.scaled(SCALES.get(place.unit, 1.0))


def records_of(folder: Path, cells: Sequence[Cell]) -> list[tuple[Path, RunRecord]]:
    """Return the records of these cells with their files."""
    places = {folder / cell.row / str(cell.seed) for cell in cells}
    there = [place for place in sorted(places) if place.is_dir()]
    return list(find_records(there).records) if there else []


def _key(kind: str, model: str, task: str, attack: str | None) -> tuple[str, ...]:
    return kind, model, task, attack or ""


def _point(record: RunRecord, source: Source) -> float | None:
    """Return where a training's curve is, so far along it."""
    for series in record.series:
        if series.name == source.metric and series.y and source.along is not None:
            return series.y[round(source.along * (len(series.y) - 1))]
    return None


def over_seeds(metrics: Sequence[Metric]) -> Value | None:
    """Return the mean over seeds; its interval holds the examples' chance and the seeds' spread.

    The examples are the same for every seed, so their part does not shrink with more of them.
    """
    values = [metric.value for metric in metrics if metric.value is not None]
    if not values:
        return None
    middle = sum(values) / len(values)
    seeds = _spread(values)
    low, high = (_end(metrics, side, seeds) for side in (-1, 1))
    majorities = [metric.majority for metric in metrics if metric.majority is not None]
    return Value(
        middle,
        None if low is None else middle - low,
        None if high is None else middle + high,
        seeds=len(values),
        examples=metrics[0].total,
        majority=sum(majorities) / len(majorities) if majorities else None,
    )


def _end(metrics: Sequence[Metric], side: int, seeds: float) -> float | None:
    """Return how far the interval reaches to one side; none: nothing is known of it."""
    reaches = []
    for metric in metrics:
        end = metric.low if side < 0 else metric.high
        if end is not None and metric.value is not None:
            reaches.append(abs(end - metric.value))
    if not reaches:
        return seeds or None
    return math.hypot(sum(reaches) / len(reaches), seeds)


def _spread(values: Sequence[float]) -> float:
    """Return half the 95 % interval of a mean over seeds, by Student's t; of one seed, nothing."""
    if len(values) < 2:
        return 0.0
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    middle, freedom = sum(values) / len(values), len(values) - 1
    variance = sum((value - middle) ** 2 for value in values) / freedom
    return float(stdtrit(freedom, 0.975)) * math.sqrt(variance / len(values))


def mean(values: Sequence[Value | None], *, weighted: bool = False) -> Value | None:
    """Return the mean of independent values; none where one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if len(known) == 1:
        return known[0]
    sizes = [float(value.examples or 1) if weighted else 1.0 for value in known]
    shares = [size / sum(sizes) for size in sizes]
    middle = sum(share * value.value for share, value in zip(shares, known, strict=True))
    interval = _combined(known, shares, middle)
    majorities = [value.majority for value in known]
    return Value(
        middle,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        seeds=min(value.seeds for value in known),
        examples=sum(value.examples or 0 for value in known) or None,
        majority=None
        if None in majorities
        else sum(share * (m or 0.0) for share, m in zip(shares, majorities, strict=True)),
    )


def _combined(values: Sequence[Value], shares: Sequence[float], middle: float) -> Interval | None:
    """Return the interval of a mean: reaches of independent parts add up in squares."""
    below, above = [], []
    for value, share in zip(values, shares, strict=True):
        if value.low is None or value.high is None:
            return None
        below.append(share * (value.value - value.low))
        above.append(share * (value.high - value.value))
    return Interval(middle, middle - math.hypot(*below), middle + math.hypot(*above))
