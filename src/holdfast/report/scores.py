"""Every record of one model in one column, as one number with its interval."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from holdfast.record import Metric, RunRecord
from holdfast.statistics import bootstrap_mean, bootstrap_values

REPEATS = 2000
"""Draws of a bootstrap."""

SHARES = frozenset(
    (
        *("accuracy", "f1", "glue", "accuracy_under_attack", "success_rate", "changed_share"),
        *("paired_accuracy", "original_accuracy", "robustness_gap", "plain_mean"),
        *("official_score", "transfer_accuracy", "white_box_accuracy", "hull_accuracy"),
    )
)
"""Metrics from 0 to 1 that are shown in percent."""

ADVGLUE = "advglue"


class Column(NamedTuple):
    """What a column of a table measures."""

    task: str
    attack: str | None
    metric: str
    group: str = ""


class Measurement(NamedTuple):
    """One number, and the record it stands in."""

    record: RunRecord
    metric: Metric

    @property
    def run(self) -> tuple[int, str]:
        """Which training it is about: its seed, and the checkpoint where the seed is unknown."""
        seed = self.record.seed
        return (-1 if seed is None else seed, self.record.checksums.get("model", ""))

    @property
    def data(self) -> str:
        """The examples it was measured on."""
        return self.record.checksums.get("data", "")

    @property
    def suite(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """The examples and the seeds of the sample and the attack."""
        return (self.data, tuple(sorted(self.record.seeds.items())))

    @property
    def marks(self) -> str | None:
        """Which examples were right, where the record says so."""
        name, group = self.metric.name, self.metric.group
        return self.record.marks.get(f"{name}/{group}" if group else name)


@dataclass(frozen=True)
class Score:
    """The mean over the trainings of one model, and what knowing nothing would score."""

    value: float
    low: float | None
    high: float | None
    runs: int
    """Trainings it is the mean of."""
    examples: int | None
    majority: float | None
    chance: float | None
    data: frozenset[str]
    """Checksums of the examples; two scores can be compared where they agree."""

    @property
    def below_majority(self) -> bool:
        """Whether always answering the most frequent class would have scored more."""
        return self.majority is not None and self.value < self.majority


Suites = dict[tuple[str, tuple[tuple[str, int], ...]], Measurement]


def by_run(measurements: Iterable[Measurement]) -> dict[tuple[int, str], Suites]:
    """Sort measurements by training, then by suite; of the same cell twice the later stays."""
    table: dict[tuple[int, str], Suites] = defaultdict(dict)
    for one in measurements:
        if one.metric.value is not None:
            table[one.run][one.suite] = one
    return {run: dict(sorted(table[run].items())) for run in sorted(table)}


def score(measurements: Iterable[Measurement], repeats: int = REPEATS) -> Score | None:
    """Return the mean over trainings, with the interval that the records allow.

    `repeats`: how often a bootstrap draws.
    """
    table = by_run(measurements)
    told = [one for suites in table.values() for one in suites.values()]
    if not told:
        return None
    shared = set.intersection(*(set(suites) for suites in table.values()))
    kept = [
        [m for s, m in suites.items() if s in shared or not shared] for suites in table.values()
    ]
    low, high = _interval(kept, repeats) if shared else (None, None)
    first = told[0].metric
    return Score(
        value=fmean(fmean(one.metric.value or 0.0 for one in row) for row in kept),
        low=low,
        high=high,
        runs=len(table),
        examples=first.total,
        majority=_mean(one.metric.majority for one in told),
        chance=_mean(one.metric.chance for one in told),
        data=frozenset(one.data for row in kept for one in row),
    )


def _interval(
    rows: Sequence[Sequence[Measurement]], repeats: int
) -> tuple[float | None, float | None]:
    """Return that of the one record, or by bootstrap over the examples and the trainings."""
    if len(rows) == len(rows[0]) == 1:
        return rows[0][0].metric.low, rows[0][0].metric.high
    if any(one.marks is None for row in rows for one in row):
        return None, None
    if len(rows[0]) == 1:
        strings = [row[0].marks or "" for row in rows]
        if len({len(marks) for marks in strings}) > 1:
            return None, None
        found = bootstrap_mean(strings, repeats=repeats)
    else:
        found = bootstrap_values([list(_mean_marks(row)) for row in rows], repeats=repeats)
    return found.low, found.high


def _mean_marks(row: Sequence[Measurement]) -> Iterator[float]:
    """Yield how often each example was right over the attacks that saw it."""
    by_data: dict[str, list[str]] = defaultdict(list)
    for one in row:
        by_data[one.data].append(one.marks or "")
    for attempts in by_data.values():
        for marks in zip(*attempts, strict=False):
            yield sum(mark == "1" for mark in marks) / len(marks)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
