"""From records to the places of a table: means over seeds, with what chance leaves open.

A paper's row has one number, so it is the mean over all seeds even where these met attacks of one
name with other settings or files; `Shelf.attacks_apart` says so.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.record import Metric, RunRecord, find_records
from holdfast.record.attacks import settings_apart, with_settings
from holdfast.record.pooling import data_of, marks_of
from holdfast.record.run_record import no_better_than_majority
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.joined import added, joined, trained_for
from holdfast.reproduce.table import Place, Source
from holdfast.statistics import Interval, bootstrap_mean, independent

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
    def no_better_than_majority(self) -> bool:
        """Whether always answering the most frequent class would have scored as much."""
        return no_better_than_majority(self.value, self.majority)

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
        known = self._measured(source)
        value = over_seeds([metric for _, metric in known])
        marks = self.marks(source)
        if value is None or not marks:
            return value
        interval = bootstrap_mean(list(marks.values()))  # seeds and examples are drawn anew, both
        return replace(value, value=interval.value, low=interval.low, high=interval.high)

    def marks(self, source: Source) -> dict[int | None, str]:
        """Return the marks of each seed; nothing unless all have them, of the same examples."""
        known = self._measured(source)
        found = {r.seed: marks_of(r, source.metric, source.group) for r, _ in known}
        same = {data_of(record) for record, _ in known}
        lengths = set(map(len, found.values()))
        comparable = len(found) == len(known) and len(same) == 1 and len(lengths) == 1
        return found if comparable and all(lengths) else {}

    def attacks_apart(self, sources: Iterable[Source]) -> Iterator[str]:
        """Yield a sentence for each attack of these that is several, with who met which of them."""
        asked = {(source.attack, source.task) for source in sources}
        known = (record for of in self._known.values() for record in of)
        records = [record for record in known if (record.attack, record.task) in asked]
        met: dict[tuple[str, str], dict[str, dict[str, set[str]]]] = {}
        for record, settings in zip(records, settings_apart(records), strict=True):
            if record.attack is not None and settings:
                models = met.setdefault((record.attack, record.task), {}).setdefault(settings, {})
                models.setdefault(record.model, set()).add(str(record.seed))
        for (attack, task), of in met.items():
            yield _apart(attack, task, of)

    def _measured(self, source: Source) -> list[tuple[RunRecord, Metric]]:
        """Return the records of a source whose number could be measured."""
        records = self._known[_key("evaluation", source.row, source.task, source.attack)]
        found = [(r, metric) for r in records if (metric := r.metric(source.metric, source.group))]
        return [(r, metric) for r, metric in found if metric.value is not None]

    def fill(self, place: Place) -> Value | None:
        """Return what stands at a place, in its unit; none unless all of its sources are there."""
        if place.computed is not None:
            return Value(place.computed)
        shares = self._shares(place)
        found = None if shares is None else self._mean(shares)
        return None if found is None else found.scaled(SCALES.get(place.unit, 1.0))

    def _shares(self, place: Place) -> dict[Source, float] | None:
        """Return how much each source counts at a place; none where one is missing."""
        if place.of:
            parts = [self._shares(other) for other in place.of]
        elif place.weighted:
            values = [self.find(source) for source in place.sources]
            sizes = [float(value.examples or 1) if value else 1.0 for value in values]
            parts = [{s: size / sum(sizes)} for s, size in zip(place.sources, sizes, strict=True)]
        else:
            parts = [{source: 1.0} for source in place.sources]
        if None in parts or not parts:
            return None
        whole: dict[Source, float] = defaultdict(float)
        each = 1.0 if place.weighted and not place.of else 1.0 / len(parts)
        for part in parts:
            for source, share in (part or {}).items():
                whole[source] += each * share
        return dict(whole)

    def _mean(self, shares: Mapping[Source, float]) -> Value | None:
        """Return the mean of sources; those of the same models are not independent."""
        values = {source: self.find(source) for source in shares}
        known = {source: value for source, value in values.items() if value is not None}
        if len(known) < len(shares):
            return None
        if len(known) == 1:
            return next(iter(known.values()))
        models: dict[tuple[str, str], list[Source]] = defaultdict(list)
        for source in known:
            models[trained_for(source)].append(source)
        groups = [
            [(source, known[source], shares[source]) for source in of] for of in models.values()
        ]
        parts = [self._of_models(group) for group in groups]
        found = None
        if None not in parts:
            sizes = [sum(share for *_, share in group) for group in groups]
            found = independent([part for part in parts if part is not None], sizes)
        if found is not None and all(is_share(source.metric) for source in known):
            found = found.within(0.0, 1.0)
        return mean([(value, shares[source]) for source, value in known.items()], found)

    def _of_models(self, group: Sequence[tuple[Source, Value, float]]) -> Interval | None:
        """Return the mean of sources that are of the same models; none: no interval is known."""
        shares = [share for *_, share in group]
        if len(group) > 1:
            marks = [self.marks(source) for source, *_ in group]
            if all(marks) and (found := joined(marks, shares)) is not None:
                return found
        known = [
            Interval(value.value, value.low, value.high)
            for _, value, _ in group
            if value.low is not None and value.high is not None
        ]
        return added(known, shares) if len(known) == len(group) else None


def records_of(folder: Path, cells: Sequence[Cell]) -> list[tuple[Path, RunRecord]]:
    """Return the records of these cells with their files."""
    places = {folder / cell.row / str(cell.seed) for cell in cells}
    there = [place for place in sorted(places) if place.is_dir()]
    return list(find_records(there).records) if there else []


def _key(kind: str, model: str, task: str, attack: str | None) -> tuple[str, ...]:
    return kind, model, task, attack or ""


def _apart(attack: str, task: str, met: Mapping[str, Mapping[str, set[str]]]) -> str:
    """Return who met the rarer of several attacks of one name; `met` has all by their settings."""
    usual, *rarer = sorted(met, key=lambda settings: -sum(map(len, met[settings].values())))
    told = (f"{with_settings(attack, one)} met {_listed(met[one])}" for one in rarer)
    return (
        f"{attack} on {task} is several attacks, which had other settings or files. Most numbers "
        f"are under {with_settings(attack, usual)}; {'; '.join(told)}. A mean over seeds may be "
        "over several of them, and rows that met others are not to be compared."
    )


def _listed(seeds: Mapping[str, set[str]]) -> str:
    return ", ".join(f"{model} (seed {', '.join(sorted(of))})" for model, of in seeds.items())


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
    below, above = (_end(metrics, side, seeds) for side in (-1, 1))
    share = is_share(metrics[0].name)
    low = None if below is None else middle - below
    high = None if above is None else middle + above
    majorities = [metric.majority for metric in metrics if metric.majority is not None]
    return Value(
        middle,
        max(low, 0.0) if share and low is not None else low,
        min(high, 1.0) if share and high is not None else high,
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


def mean(values: Sequence[tuple[Value, float]], interval: Interval | None = None) -> Value:
    """Return the mean of values by their shares, with the interval that it has."""
    whole = sum(share for _, share in values)
    majorities = [(value.majority, share) for value, share in values]
    known = [majority * share for majority, share in majorities if majority is not None]
    return Value(
        sum(value.value * share for value, share in values) / whole,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        seeds=min(value.seeds for value, _ in values),
        examples=sum(value.examples or 0 for value, _ in values) or None,
        majority=sum(known) / whole if len(known) == len(values) else None,
    )


def is_share(metric: str) -> bool:
    """Whether a number lies between 0 and 1."""
    return metric.endswith("accuracy") or metric in _SHARES


_SHARES = (
    *("f1", "glue", "accuracy_under_attack", "certified_accuracy", "success_rate", "changed_share"),
    *("plain_mean", "official_score", "neighbour_agreement"),
)
