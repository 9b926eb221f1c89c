"""AdvGLUE's six tasks together, from their records: one row of a table may need five models."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.attack import Process
from holdfast.evaluate.advglue import ADVGLUE, advglue_total
from holdfast.evaluate.cells import AdvGLUECell, AdvGLUETotal
from holdfast.evaluate.measured import Measured
from holdfast.record import (
    RunRecord,
    decode,
    encode,
    read_record,
    write_record,
)

TOTAL = "advglue"
"""What the record has for its task."""


def write_total(place: Path) -> Iterator[RunRecord]:
    """Write and yield the total of the records in `place`/advglue, when all six are there."""
    files = {part: place / "advglue" / f"{part}.json" for part in ADVGLUE}
    if Process.of_environment().rank > 0 or not all(file.is_file() for file in files.values()):
        return
    record = total_of({part: read_record(file) for part, file in files.items()})
    write_record(record, place / "advglue" / "total.json")
    yield record


def total_of(records: Mapping[str, RunRecord]) -> RunRecord:
    """Return the record of the six tasks together."""
    first = next(iter(records.values()))
    cells: tuple[AdvGLUECell, ...] = tuple(
        decode(AdvGLUECell, record.config) for record in records.values()
    )
    measured = {part: Measured(r.metrics, r.marks) for part, r in records.items()}
    return RunRecord(
        kind="evaluation",
        model=first.model,
        task=TOTAL,
        seed=first.seed,
        config=encode(AdvGLUETotal(cells)),
        metrics=advglue_total(measured),
        checksums={
            name: _together(record.checksums[name] for record in records.values())
            for name in ("data", "model")
        },
        environment=first.environment,
        device=first.device,
        seconds=round(sum(record.seconds for record in records.values()), 3),
    )


def _together(checksums: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(checksums).encode()).hexdigest()
