"""The records of a campaign's runs to results/, a file for each study and encoder, and back.

What is published says which commit made it, and no time that other processes took part in. Records
of a model that was trained anew take the place of all that was measured of the one before.
"""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from studies import ALONE, MODELS

from holdfast.record import RunRecord, find_records, read_collection, write_collection, write_record
from holdfast.reproduce.joined import trained_task

RESULTS = Path(__file__).resolve().parents[1] / "results"
BESIDE = "Latency is left out: other processes ran on the card."


def file_of(study: str, model: str) -> Path:
    """Return where the records of a study lie."""
    return RESULTS / study / f"{model}.records.jsonl.gz"


def pack(runs: Path, commit: str, studies: list[str]) -> None:
    """Add the records of every study to its file; what was run again takes the place of before."""
    for model in MODELS:
        for name in studies:
            folder = runs / model / name / "records"
            if not folder.is_dir():
                continue
            found = find_records([folder])
            assert not found.problems, found.problems
            file = file_of(name, model)
            fresh = [told(record, commit) for _, record in found.records]
            before = read_collection(file) if file.is_file() else ()
            kept = {subject(record): record for record in not_retrained(before, fresh)}
            for record in fresh:
                kept[subject(record)] = newer(kept.get(subject(record)), record)
            written = write_collection([kept[key] for key in sorted(kept)], file)
            print(name, model, f"{len(kept)} records, {written.stat().st_size} bytes")


def subject(record: RunRecord) -> tuple[str, str, str, str, str]:
    """Return what a record is about: there is one of each in a study."""
    return record.model, str(record.seed), record.task, record.kind, record.attack or ""


def not_retrained(before: Iterable[RunRecord], fresh: list[RunRecord]) -> list[RunRecord]:
    """Return the records of before, but for those of a model that was trained anew since.

    What was measured of the one must not stand beside what was measured of the other.
    """
    known = list(before)
    old, new = trainings(known), trainings(fresh)
    again = {of for of in old.keys() & new.keys() if old[of] != new[of]}
    return [record for record in known if training_of(record) not in again]


def training_of(record: RunRecord) -> tuple[str, str, str]:
    """Return which training a record is of: its model, its seed and what it was trained on."""
    return record.model, str(record.seed), trained_task(record.task)


def trainings(records: Iterable[RunRecord]) -> dict[tuple[str, str, str], RunRecord]:
    """Return the records of trainings, but for the commit, which does not make two of one."""
    return {
        training_of(record): at_commit(record, "")
        for record in records
        if record.kind == "training"
    }


def newer(before: RunRecord | None, record: RunRecord) -> RunRecord:
    """Return the later of two records of one thing, unless only the earlier was timed alone.

    One that was packed before stays what it was, with the commit that it was packed with.
    """
    if before is None or at_commit(before, "") == at_commit(record, ""):
        return before or record
    return before if ALONE in before.notes and ALONE not in record.notes else record


def at_commit(record: RunRecord, commit: str) -> RunRecord:
    """Return a record as made by the code of a commit."""
    return dataclasses.replace(record, environment={**record.environment, "commit": commit})


def told(record: RunRecord, commit: str) -> RunRecord:
    """Return a record as it is published: with the commit, without what is no measurement."""
    record = at_commit(record, record.environment.get("commit") or commit)
    alone = ALONE in record.notes
    metrics = tuple(m for m in record.metrics if alone or m.name != "latency_ms")
    notes = record.notes if len(metrics) == len(record.metrics) else (*record.notes, BESIDE)
    return dataclasses.replace(record, metrics=metrics, notes=notes, outcomes=None)


def unpack(file: Path, folder: Path) -> None:
    """Write each record of a file by itself, for `holdfast reproduce --from-record`."""
    for record in read_collection(file):
        name = "-".join((record.kind, record.task.replace("/", "-"), record.attack or "clean"))
        write_record(record, folder / record.model / str(record.seed) / f"{name}.json")
