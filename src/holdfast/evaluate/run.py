"""Evaluate checkpoints cell by cell; a killed evaluation goes on where it stopped."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.attack import Machine, Process
from holdfast.attack.machine import ANY_MACHINE
from holdfast.data import checksum
from holdfast.errors import InputError
from holdfast.evaluate.bench import Bench
from holdfast.evaluate.cells import AttackCell, Cell, cells_of
from holdfast.evaluate.checkpoint import Checkpoint
from holdfast.evaluate.fitting import Fitted, fit
from holdfast.evaluate.identity import finished
from holdfast.evaluate.named import Named, named
from holdfast.evaluate.preparing import prepare
from holdfast.evaluate.progress import Progress, Silent
from holdfast.evaluate.suite import Suite
from holdfast.evaluate.supplies import Supplies
from holdfast.evaluate.total import write_total
from holdfast.record import RunRecord, describe_environment, refuse_folder, write_record
from holdfast.victim import GivenVictim, ModelVictim, load


def evaluate(
    checkpoint: Checkpoint | Named | GivenVictim,
    suite: Suite,
    out: Path,
    *,
    machine: Machine = ANY_MACHINE,
    progress: Progress | None = None,
) -> list[RunRecord]:
    """Measure a checkpoint in every cell of a suite and return the records, which lie in `out`.

    A classifier that is in memory already reads texts as it was made to, whatever the suite says
    of its precision and length; `Named` gives it a row of its own, the names of its classes and
    the seed of its training.
    A cell whose record is there already is not measured again. Processes that torchrun or
    `accelerate launch` started share the attacks; the first writes the records and returns them.
    """
    known = checkpoint if isinstance(checkpoint, Checkpoint | Named) else named(checkpoint)
    return _evaluate_plan(fit([known], suite), suite, out, machine, progress or Silent())


def evaluate_all(
    checkpoints: Sequence[Checkpoint | Named],
    suite: Suite,
    out: Path,
    *,
    machine: Machine = ANY_MACHINE,
    progress: Progress | None = None,
) -> list[RunRecord]:
    """Measure several checkpoints, the suite's reference first; see `evaluate`."""
    _require_reference(checkpoints, suite)
    plan = fit(sorted(checkpoints, key=lambda one: one.name != suite.reference), suite)
    return _evaluate_plan(plan, suite, out, machine, progress or Silent())


def _require_reference(checkpoints: Sequence[Checkpoint | Named], suite: Suite) -> None:
    names = list(dict.fromkeys(one.name for one in checkpoints))
    if suite.reference is not None and suite.reference not in names:
        raise InputError(
            f"The reference {suite.reference!r} is no checkpoint of this evaluation; name one of "
            f"{', '.join(names)}."
        )


def _evaluate_plan(
    plan: Sequence[Fitted], suite: Suite, out: Path, machine: Machine, progress: Progress
) -> list[RunRecord]:
    """Read everything but the models, then measure one checkpoint after the other."""
    refuse_folder(out)
    supplies, environment = Supplies(), describe_environment()
    records: list[RunRecord] = []
    for fitted in plan:
        supplies.get(_cells(fitted, suite), fitted.labels)
    progress.expect(sum(len(_cells(fitted, suite)) for fitted in plan))
    for fitted in plan:
        victim = fitted.victim or load(
            fitted.checkpoint.folder,
            max_length=suite.max_length,
            precision=suite.precision,
            shared=machine.shared,
        )
        bench = Bench(fitted, victim, out, supplies, machine, progress, environment)
        records += _records(bench, _cells(fitted, suite))
    # a row of five checkpoints has one total
    for place in dict.fromkeys(fitted.checkpoint.place for fitted in plan if fitted.parts):
        records += write_total(out / place)
    return records


def _cells(fitted: Fitted, suite: Suite) -> list[Cell]:
    if isinstance(ready := fitted.victim, ModelVictim):
        suite = replace(suite, precision=ready.precision, max_length=ready.max_length)
    return list(cells_of(fitted.checkpoint, suite, fitted.tasks, fitted.parts))


def _records(bench: Bench, cells: Sequence[Cell]) -> Iterator[RunRecord]:
    """Yield the record of each cell, measured now or before; only the first process has any."""
    first = Process.of_environment().rank == 0
    for cell in cells:
        if first or isinstance(cell, AttackCell):  # the other processes help to attack
            record = _settled(bench, cell)
            if first and record is not None:
                yield record


def _settled(bench: Bench, cell: Cell) -> RunRecord | None:
    """Return the record of a cell; none in a process that helped to measure it."""
    prepared = prepare(bench, cell)
    path = bench.out / cell.stem.with_name(f"{cell.stem.name}.json")
    found = finished(path, prepared.head)
    if found is not None:
        record = found if prepared.refresh is None else prepared.refresh(found)
        if record != found:
            write_record(record, path)
        bench.progress.done(record, path, before=True)
        return record
    begun = time.perf_counter()
    measured = prepared.measure()
    if measured is None:
        return None
    completed = bench.completed(prepared.head, measured, time.perf_counter() - begun)
    record = _sealed(completed, path)
    write_record(record, path)
    bench.progress.done(record, path, before=False)
    return record


def _sealed(record: RunRecord, path: Path) -> RunRecord:
    """Return the record with the checksum of its outcomes: others in their place are noticed."""
    if record.outcomes is None:
        return record
    outcomes = checksum(path.with_name(record.outcomes))
    return replace(record, checksums={**record.checksums, "outcomes": outcomes})
