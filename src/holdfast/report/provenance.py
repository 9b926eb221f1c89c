"""How it was made: versions, machines, seeds, checksums, and what every name means."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.record import METRICS, SERIES, RunRecord
from holdfast.report.content import Block, Cell, Row, Section, Table
from holdfast.report.numbers import counted, joined

MOST_ROWS = 60
Json = Mapping[str, Any]


def provenance(records: Sequence[RunRecord]) -> Section:
    """Return what a reader needs to believe the numbers, and to run them again."""
    blocks: list[Block] = [_environments(records), _seeds(records)]
    if checksums := _checksums(records):
        blocks.append(checksums)
    blocks += [block for block in (_trainings(records),) if block]
    lead = (
        "What the records say of how they were made. The full configuration of each is in its own "
        "file, and a row for each metric in records.csv beside this page."
    )
    return Section("made", "How it was made", lead, tuple(blocks))


def definitions(records: Iterable[RunRecord]) -> Section | None:
    """Return what each name in these records means, in one line each."""
    records = list(records)
    metrics = dict.fromkeys(m.name for record in records for m in record.metrics)
    series = dict.fromkeys(s.name for record in records for s in record.series)
    known = {name: METRICS[name] for name in metrics if name in METRICS}
    known |= {f"{name} (along an axis)": SERIES[name] for name in series if name in SERIES}
    unknown = {name: "not defined by this version" for name in metrics if name not in METRICS}
    if not known | unknown:
        return None
    rows = tuple(Row(Cell(name), (Cell(text),)) for name, text in (known | unknown).items())
    table = Table("What each name means", (Cell("name"), Cell("definition")), rows, left=True)
    return Section("definitions", "Definitions", "Every name that the records use.", (table,))


def _environments(records: Sequence[RunRecord]) -> Table:
    """List each environment once, with how many records it made."""
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        found[json.dumps([record.environment, record.device], sort_keys=True, default=str)].append(
            record
        )
    rows = tuple(_environment(group) for group in list(found.values())[:MOST_ROWS])
    head = ("records", "Holdfast", "commit", "Python", "packages", "machine", "hours")
    caption = f"{counted(len(found), 'environment')} that made the records"
    notes = _left_out(len(found), "environments")
    return Table(caption, tuple(map(Cell, head)), rows, notes, "Environments", left=True)


def _environment(records: Sequence[RunRecord]) -> Row:
    about: Json = records[0].environment
    packages = about.get("packages")
    told = packages.items() if isinstance(packages, Mapping) else ()
    machine = [records[0].device, about.get("platform"), f"{about.get('cpus', '?')} CPUs"]
    hours = sum(record.seconds for record in records) / 3600
    texts = (
        about.get("holdfast", "unknown"),
        str(about.get("commit") or "unknown")[:12],
        about.get("python", "unknown"),
        ", ".join(f"{name} {version}" for name, version in told) or "unknown",
        ", ".join(str(part) for part in machine if part),
        f"{hours:.2f}",
    )
    return Row(Cell(counted(len(records), "record")), tuple(Cell(str(text)) for text in texts))


def _seeds(records: Sequence[RunRecord]) -> Table:
    """List the seeds of every model."""
    trained: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = defaultdict(set)
    for record in records:
        trained[record.model].add("unknown" if record.seed is None else str(record.seed))
        others[record.model] |= {f"{name} {seed}" for name, seed in record.seeds.items()}
    rows = tuple(
        Row(Cell(model), (Cell(_listed(seeds)), Cell(_listed(others[model]))))
        for model, seeds in list(trained.items())[:MOST_ROWS]
    )
    head = (Cell("model"), Cell("seeds of training"), Cell("other seeds"))
    return Table(
        "Seeds of each model", head, rows, _left_out(len(trained), "models"), "Seeds", left=True
    )


def _listed(names: set[str]) -> str:
    ordered = sorted(names, key=lambda name: (len(name), name))
    return joined(ordered, 12) if ordered else "none"


def _checksums(records: Sequence[RunRecord]) -> Table | None:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in records:
        for name, value in record.checksums.items():
            found[name, value].append(f"{record.model}: {record.task}")
    rows = tuple(
        Row(Cell(name), (Cell(value), Cell(joined(list(dict.fromkeys(used)), 3))))
        for (name, value), used in sorted(found.items())[:MOST_ROWS]
    )
    head = (Cell("what"), Cell("SHA-256"), Cell("read by"))
    notes = _left_out(len(found), "checksums")
    caption = "SHA-256 of what was read"
    return Table(caption, head, rows, notes, "Checksums", left=True) if rows else None


def _trainings(records: Sequence[RunRecord]) -> Table | None:
    """List how each model was trained, in the settings that the papers speak of."""
    known = {r.model: r.training for r in reversed(records) if r.training is not None}
    if not known:
        return None
    rows = tuple(
        Row(Cell(model), tuple(Cell(_part(known[model], name)) for name in _PARTS))
        for model in list(known)[::-1][:MOST_ROWS]
    )
    head = (Cell("model"), *map(Cell, _PARTS.values()))
    notes = _left_out(len(known), "models")
    return Table("How the models were trained", head, rows, notes, "Trained by", left=True)


_PARTS = {
    "model": "trained from",
    "connection": "connection",
    "objective": "objective",
    "anchor": "anchor",
    "canonical": "canonical text",
}
"""Setting to what the page calls it."""


def _part(training: Json, name: str) -> str:
    value = training.get(name)
    if not isinstance(value, Mapping):
        return "none" if value is None else str(value)
    inside = [_setting(key, part) for key, part in value.items() if key != "type"]
    return f"{value.get('type', '')}({', '.join(inside)})"


def _setting(key: str, part: Any) -> str:
    return f"{key}={part.get('type', '...') if isinstance(part, Mapping) else part}"


def _left_out(count: int, what: str) -> tuple[str, ...]:
    return (f"{count - MOST_ROWS} more {what} are in the records.",) if count > MOST_ROWS else ()
