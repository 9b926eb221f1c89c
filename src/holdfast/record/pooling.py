"""One number of many records: a metric of one model over its trainings, samples and attack seeds.

Whoever shows such a number takes it from here, so that a table, a page and a model card agree; the
papers' tables alone have rules of their own (`holdfast.reproduce.fill`).
Attacks with several seeds on the same examples are several looks at the same training, and count as
one; so do several samples of examples. What counts as many are trainings. Attacks of one name that
had other settings or files are other attacks, and are never taken together.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul
from statistics import fmean
from typing import NamedTuple

from holdfast.record.attacks import settings_apart
from holdfast.record.run_record import Metric, RunRecord
from holdfast.statistics import Interval, bootstrap_mean, bootstrap_shares

REPEATS = 2000
"""Draws of a bootstrap."""
BEFORE = ("accuracy", "f1", "glue")
"""Measures of the texts as they are, which no setting of an attack changes."""

Training = tuple[int, str]
"""Its seed, and the checksum of its checkpoint."""
Suite = tuple[str, tuple[tuple[str, int], ...]]
"""The checksum of the examples, and the seeds of the sample and the attack."""


class Pooled(NamedTuple):
    """A metric over all that was measured of it."""

    metric: Metric
    """The mean, with an interval where every training was measured on the same examples."""
    trainings: int
    data: frozenset[str]
    """Checksums of the examples; two numbers can be compared where they agree."""


def training_of(record: RunRecord) -> Training:
    """Return which training a record is about; a seed that is unknown stands first."""
    return (-1 if record.seed is None else record.seed, record.checksums.get("model", ""))


def data_of(record: RunRecord) -> str:
    """Return the checksum of the examples, or nothing."""
    return record.checksums.get("data", "")


def marks_of(record: RunRecord, name: str, group: str = "") -> str:
    """Return which examples were right, or nothing where the record does not say so."""
    return record.marks.get(f"{name}/{group}" if group else name, "")


def _several_attacks(records: Iterable[RunRecord], name: str) -> bool:
    """Whether a metric is that of several attacks of one name."""
    return name not in BEFORE and len(set(settings_apart(records))) > 1


def by_training(records: Iterable[RunRecord]) -> dict[Training, dict[Suite, RunRecord]]:
    """Sort records by training, then by suite; of the same one twice the later stays."""
    table: dict[Training, dict[Suite, RunRecord]] = defaultdict(dict)
    for record in records:
        table[training_of(record)][data_of(record), tuple(sorted(record.seeds.items()))] = record
    return {training: dict(sorted(table[training].items())) for training in sorted(table)}


def pool(
    records: Iterable[RunRecord], name: str, group: str = "", *, repeats: int = REPEATS
) -> Pooled | None:
    """Return the metric over records of one model, task and attack; none: nobody measured it.

    Nor is there one of records whose attacks differ in more than the name (`settings_apart`).
    Suites that not all trainings have are left out, if there are any that all have; else all
    count, and there is no interval. `repeats`: how often a bootstrap draws.
    """
    known = [record for record in records if _value(record, name, group) is not None]
    if not known or _several_attacks(known, name):
        return None
    table = by_training(known)
    shared = set.intersection(*(set(suites) for suites in table.values()))
    rows = [
        [record for suite, record in suites.items() if suite in shared or not shared]
        for suites in table.values()
    ]
    data = frozenset(data_of(record) for row in rows for record in row)
    return Pooled(_mean_of(rows, name, group, repeats if shared else 0), len(rows), data)


def lined_up(records: Iterable[RunRecord], name: str, group: str = "") -> list[str]:
    """Return which examples were right, a text for each training; empty: not known.

    Of several attacks on the same examples the first counts, so that no example does twice. For
    that reason the largest of several samples counts alone: they may hold the same examples.
    Trainings that were measured on other examples than the rest have nothing to line up with.
    """
    known = [record for record in records if _value(record, name, group) is not None]
    if not known or _several_attacks(known, name):
        return []
    rows: list[dict[str, str]] = []
    for suites in by_training(known).values():
        first: dict[str, str] = {}
        for record in suites.values():
            first.setdefault(data_of(record), marks_of(record, name, group))
        rows.append(first)
    if not _same_examples(rows):
        return []
    # Among equals the checksum decides, so that it is the same sample for every model.
    largest = min(rows[0], key=lambda data: (-len(rows[0][data]), data))
    return [row[largest] for row in rows]


def _same_examples(rows: Sequence[Mapping[str, str]]) -> bool:
    examples = [[(data, len(marks)) for data, marks in row.items()] for row in rows]
    known = all(length for row in examples for _, length in row)
    return known and all(row == examples[0] for row in examples)


def _value(record: RunRecord, name: str, group: str) -> float | None:
    metric = record.metric(name, group)
    return None if metric is None else metric.value


def _mean_of(rows: Sequence[Sequence[RunRecord]], name: str, group: str, repeats: int) -> Metric:
    """Return the mean of the records, a row for each training; no repeats: without an interval."""
    found = [[metric for one in row if (metric := one.metric(name, group))] for row in rows]
    if len(found) == len(found[0]) == 1:
        return found[0][0]
    interval = _interval(rows, name, group, repeats) if repeats else None
    everything = [metric for row in found for metric in row]
    mean = fmean(fmean(metric.value or 0.0 for metric in row) for row in found)
    return Metric(
        name=name,
        value=mean if interval is None else interval.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        total=_examples(rows, name, group),
        group=group,
        majority=_mean(metric.majority for metric in everything),
        chance=_mean(metric.chance for metric in everything),
    )


def _interval(
    rows: Sequence[Sequence[RunRecord]], name: str, group: str, repeats: int
) -> Interval | None:
    """Return it by bootstrap over the examples and the trainings; none: marks are missing.

    Two samples of one file share examples, and no record says how many: 900 of 1,000 are nearly the
    same ones each time. Were they all the same, their mean would be no surer than they are; it is
    never less sure. So its interval is the mean of theirs, not that of more examples.
    """
    attempts = [_by_data(row, name, group) for row in rows]
    lengths = [[sorted({*map(len, of)}) for of in row.values()] for row in attempts]
    if any(len(of) > 1 or of == [0] for row in lengths for of in row):
        return None
    if any(row != lengths[0] for row in lengths):
        return None
    samples = [_of_sample([row[data] for row in attempts], repeats) for data in attempts[0]]
    return _weighted(samples, [length for (length,) in lengths[0]])


def _of_sample(attempts: Sequence[Sequence[str]], repeats: int) -> Interval:
    """Return the interval of one sample: for each training its marks, of several attacks each."""
    if all(len(of) == 1 for of in attempts):
        return bootstrap_mean([of[0] for of in attempts], repeats=repeats)
    return bootstrap_shares([list(_mean_marks(of)) for of in attempts], repeats=repeats)


def _weighted(parts: Sequence[Interval], sizes: Sequence[int]) -> Interval:
    """Return the mean of intervals by the sizes of their samples, as if these were all the same."""
    if len(parts) == 1:
        return parts[0]
    ends = [(part.value, part.low, part.high) for part in parts]
    return Interval(
        *(sum(map(mul, sizes, column)) / sum(sizes) for column in zip(*ends, strict=True))
    )


def _by_data(row: Iterable[RunRecord], name: str, group: str) -> dict[str, list[str]]:
    """Return the marks of one training, by sample; several of one, where it was attacked often."""
    found: dict[str, list[str]] = defaultdict(list)
    for record in row:
        found[data_of(record)].append(marks_of(record, name, group))
    return found


def _mean_marks(attempts: Sequence[str]) -> Iterator[float]:
    """Yield how often each example was right over the attacks that saw it."""
    for marks in zip(*attempts, strict=True):
        yield sum(mark == "1" for mark in marks) / len(marks)


def _examples(rows: Sequence[Sequence[RunRecord]], name: str, group: str) -> int | None:
    """Return how many examples each training was measured on; none: not known, or not the same.

    Of several samples it is the number of the largest: the others may hold the same examples.
    """
    counts = set()
    for row in rows:
        metrics = ((data_of(one), one.metric(name, group)) for one in row)
        of_data = {data: metric.total for data, metric in metrics if metric is not None}
        known = [total for total in of_data.values() if total is not None]
        counts.add(max(known) if len(known) == len(of_data) else None)
    return counts.pop() if len(counts) == 1 else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
