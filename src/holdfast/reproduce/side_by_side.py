"""Cells in several processes on one card.

A small model leaves most of a GPU idle, however large its batch. Processes side by side fill it;
NVIDIA's multi-process service (`nvidia-cuda-mps-control -d`) lets their kernels run at the same
time. Each takes the next cell that none has taken.
"""

import dataclasses
import enum
import logging
import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.sharedctypes import Synchronized

import torch

from holdfast.attack import Machine
from holdfast.errors import InputError
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.run import Workshop, title
from holdfast.solve.recording import no_room, reason, release_memory

_log = logging.getLogger(__name__)

Task = tuple[Workshop, Cell]
"""A cell and where it is run: cells of several tables and models can stand in one row."""


def run_side_by_side(
    tasks: Sequence[Task], processes: int, *, seconds: float | None = None
) -> dict[str, float]:
    """Run cells in their order; return the seconds of each that was begun and finished.

    Cells that found the card full are run once more when all others have ended, half as many at a
    time. After `seconds` no cell is begun, and those under way are given up; what they finished
    before is kept, and the same call goes on there.
    """
    if processes < 1:
        raise InputError(f"There are {processes} processes; expected 1 or more.")
    # the card must be new to every process: a forked one cannot use what its parent opened
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        raise InputError("The GPU is in use already; run cells side by side before anything else.")
    until = None if seconds is None else time.monotonic() + seconds
    took, full = _one_round(tasks, processes, until)
    if full:
        _log.warning("%d cells found the card full and are run again", len(full))
        took |= _one_round([tasks[number] for number in full], max(1, processes // 2), until)[0]
    return took


def _one_round(
    tasks: Sequence[Task], processes: int, until: float | None
) -> tuple[dict[str, float], list[int]]:
    """Run each cell once; return the seconds of those that ended, and which found no memory."""
    context = multiprocessing.get_context("fork")
    following, manager = context.Value("i", 0), context.Manager()
    took, full = manager.dict(), manager.list()
    workers = [
        context.Process(target=_work, args=(tasks, following, took, full, until), daemon=True)
        for _ in range(min(processes, len(tasks)))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(None if until is None else max(0.0, until - time.monotonic()))
    late = [worker for worker in workers if worker.is_alive()]
    for worker in late:  # all of them before any is waited for: on a shared card one that is killed
        worker.kill()  # breaks what the others run, and each would say so at length
    for worker in late:
        worker.join()
    return dict(took), sorted(full)


def _work(
    tasks: Sequence[Task],
    following: "Synchronized[int]",
    took: dict[str, float],
    full: list[int],
    until: float | None,
) -> None:
    torch.set_num_threads(1)  # the others need the cores as well
    while until is None or time.monotonic() < until:
        with following.get_lock():
            number = following.value
            following.value += 1
        if number >= len(tasks):
            return
        workshop, cell = tasks[number]
        began = time.monotonic()
        ended = _run(_sharing(workshop), cell)
        release_memory()  # what failed holds its memory until it is dealt with
        if ended is Ended.WELL:
            took[f"{workshop.setting.output}/{cell.id}"] = time.monotonic() - began
        elif ended is Ended.FULL:
            full.append(number)


class Ended(enum.Enum):
    """How a cell ended."""

    WELL = enum.auto()
    BADLY = enum.auto()
    FULL = enum.auto()
    """The others had taken the card's memory."""


def _sharing(workshop: Workshop) -> Workshop:
    return dataclasses.replace(workshop, machine=Machine(workers=0, shared=True))


def _run(workshop: Workshop, cell: Cell) -> Ended:
    """Run one cell, and tell how it ended: what fails in it must not end the others."""
    try:
        failed = workshop.run([cell])  # which says what failed
    except Exception as error:
        if no_room(error):
            _log.warning("%s found the card full (%s)", title(cell), reason(error))
            return Ended.FULL
        _log.exception("%s could not be finished", title(cell))
        return Ended.BADLY
    return Ended.BADLY if failed else Ended.WELL
