"""Cells in several processes on one card.

A small model leaves most of a GPU idle, however large its batch. Processes side by side fill it;
NVIDIA's multi-process service (`nvidia-cuda-mps-control -d`) lets their kernels run at the same
time. Each takes the next cell that none has taken.
"""

import dataclasses
import logging
import multiprocessing
import time
from collections.abc import MutableMapping, MutableSequence, Sequence
from multiprocessing.synchronize import Lock

import torch

from holdfast.attack import Machine
from holdfast.errors import InputError
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.run import Workshop, release_memory, title
from holdfast.solve.recording import reason

_log = logging.getLogger(__name__)

Task = tuple[Workshop, Cell]
"""A cell and where it is run: cells of several tables and models can stand in one row."""


def run_side_by_side(
    tasks: Sequence[Task], processes: int, *, seconds: float | None = None
) -> dict[str, float]:
    """Run cells in their order; return the seconds of each that was begun and finished.

    A cell that found the card full is run once more, after all others. After `seconds` no cell is
    begun, and those under way are given up; what they finished before is kept, and the same call
    goes on there.
    """
    if processes < 1:
        raise InputError(f"There are {processes} processes; expected 1 or more.")
    # the card must be new to every process: a forked one cannot use what its parent opened
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        raise InputError("The GPU is in use already; run cells side by side before anything else.")
    context = multiprocessing.get_context("fork")
    manager = context.Manager()
    row, took = Row(manager.list(range(len(tasks))), manager.dict(), context.Lock()), manager.dict()
    until = None if seconds is None else time.monotonic() + seconds
    workers = [
        context.Process(target=_work, args=(tasks, row, took, until), daemon=True)
        for _ in range(min(processes, len(tasks)))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(None if until is None else max(0.0, until - time.monotonic()))
        if worker.is_alive():
            worker.kill()
            worker.join()
    return dict(took)


@dataclasses.dataclass(frozen=True)
class Row:
    """The cells that stand in a row, shared by the processes."""

    waiting: MutableSequence[int]
    again: MutableMapping[int, bool]
    """Those that were put back."""
    lock: Lock

    def take(self) -> int | None:
        """Return the next cell, which no other process gets; none: there is none left."""
        with self.lock:
            return self.waiting.pop(0) if self.waiting else None

    def put_back(self, number: int) -> bool:
        """Put a cell at the end of the row, and tell whether it was; it is only once."""
        with self.lock:
            if self.again.get(number, False):
                return False
            self.again[number] = True
            self.waiting.append(number)
            return True


def _work(tasks: Sequence[Task], row: Row, took: dict[str, float], until: float | None) -> None:
    torch.set_num_threads(1)  # the others need the cores as well
    while until is None or time.monotonic() < until:
        number = row.take()
        if number is None:
            return
        workshop, cell = tasks[number]
        began = time.monotonic()
        try:
            finished = _run(_sharing(workshop), cell)
        except torch.OutOfMemoryError as error:
            told = "runs again after the others" if row.put_back(number) else "is given up"
            _log.warning("%s found the card full and %s (%s)", title(cell), told, reason(error))
        else:
            if finished:
                took[f"{workshop.setting.output}/{cell.id}"] = time.monotonic() - began


def _sharing(workshop: Workshop) -> Workshop:
    return dataclasses.replace(workshop, machine=Machine(workers=0, shared=True))


def _run(workshop: Workshop, cell: Cell) -> bool:
    """Run one cell, and tell whether it was finished: what fails in it must not end the others."""
    try:
        return not workshop.run([cell])  # which says what failed
    except torch.OutOfMemoryError:  # others hold the memory, and give it back
        raise
    except Exception:
        _log.exception("%s could not be finished", title(cell))
        return False
    finally:
        release_memory()
