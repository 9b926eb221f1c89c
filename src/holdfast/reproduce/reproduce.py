"""Run a reproduction: its cells, then its table from whatever records are there."""

import json
from dataclasses import replace
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import (
    Found,
    encode,
    read_note,
    refuse_folder,
    write_atomically,
    write_note,
)
from holdfast.record.leaves import leaves, same_place
from holdfast.report import write_report
from holdfast.report.published import Published
from holdfast.reproduce.cell import Cell, distinct
from holdfast.reproduce.done import is_done, refuse_other_files
from holdfast.reproduce.fill import records_of
from holdfast.reproduce.markdown import markdown
from holdfast.reproduce.recipe import Reproduction
from holdfast.reproduce.result import Result, result_of
from holdfast.reproduce.run import Say, Workshop, title
from holdfast.reproduce.samples import write_demo
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.shard import Shard
from holdfast.reproduce.side_by_side import run_side_by_side

FORMAT = 1
FIXED = ("model", "budget", "data", "reading", "precision", "lexicon")
"""What all that lies in one output folder has in common; see `done` for the other files."""
PLACES = ("model", "data", "lexicon")
"""Those that are files or folders, which may be named in several ways."""


def reproduce(
    reproduction: Reproduction,
    setting: Setting,
    *,
    shard: Shard | None = None,
    processes: int = 1,
    say: Say = lambda _: None,
) -> Result:
    """Run this process's part of the cells, write the page, return what is there."""
    if reproduction.needs_vectors and setting.vectors is None:
        raise InputError(
            f"{reproduction.name} has an attacker who takes his words from word vectors, and there "
            "are none; give --vectors FILE, or make one with scripts/counter_fit.py."
        )
    claim(setting)
    if setting.demo:
        write_demo(setting.output)
    cells = distinct(reproduction.cells(setting))
    refuse_other_files(setting, cells)
    own = shard or Shard.read(None)
    failed = _run(Workshop(setting, say), own.of(cells), processes)
    result = result_of(reproduction, setting, failed)
    # of several processes the last one finds everything there, and makes the report
    write_pages(result, report=own.count == 1 or not result.missing)
    return result


def _run(workshop: Workshop, cells: list[Cell], processes: int) -> list[str]:
    """Run cells, one after the other or side by side; return what failed, in sentences."""
    if processes == 1:
        return workshop.run(cells)
    run_side_by_side([(workshop, cell) for cell in cells], processes)
    left = [cell for cell in cells if not is_done(workshop.setting, cell)]
    return [f"{title(cell)} was not finished." for cell in left]


def claim(setting: Setting) -> None:
    """Note what the output folder is for, or refuse to mix it with something else."""
    refuse_folder(setting.output)
    file = setting.output / "setting.json"
    now = {name: encode(getattr(setting, name)) for name in FIXED}
    there = read_note(file, FORMAT, "does not say what was run")
    if there is None:
        setting.output.mkdir(parents=True, exist_ok=True)
        write_note(file, FORMAT, now)
        return
    before, after = (dict(leaves(of)) for of in (there, json.loads(json.dumps(now))))
    for name, value in after.items():
        if (was := before.get(name)) != value:
            # cells are found by how it is named
            same = name in PLACES and same_place(was, value)
            raise InputError(
                f"{setting.output} holds reproductions with {name} {was}, and now it is {value}; "
                f"{'name it as then' if same else 'choose another output folder'}."
            )


def page_folder(result: Result) -> Path:
    """Return where the pages of a reproduction lie."""
    return result.setting.output / result.reproduction.name


def write_pages(result: Result, *, report: bool = True) -> None:
    """Write reproduction.md, reproduction.json and the report of the cells' records."""
    folder = page_folder(result)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "reproduction.md", markdown(result), shared=True)
    content = json.dumps(summary(result), indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / "reproduction.json", content, shared=True)
    cells = result.reproduction.cells(result.setting)
    records = records_of(result.setting.output / "records", cells)
    if records and report:
        write_report(Found(tuple(records), ()), folder, published=beside(result))


def beside(result: Result) -> tuple[Published, ...]:
    """Return the published numbers with what was measured in their place, for the report."""
    found = []
    for grid in result.grids:
        for entry in grid.entries:
            if entry.published is None:
                continue
            known = Published(
                table=result.reproduction.published.paper,
                row=entry.row,
                column=entry.column,
                value=entry.published.value,
                note=entry.published.note,
            )
            value = entry.measured
            if value is not None:
                known = replace(known, measured=value.value, low=value.low, high=value.high)
            found.append(known)
    return tuple(found)


def summary(result: Result) -> dict[str, object]:
    """Return a result as plain values."""
    return {
        "reproduction": result.reproduction.name,
        "paper": result.reproduction.published.paper,
        "budget": result.setting.budget.name,
        "warning": result.setting.budget.warning,
        "cells": result.cells,
        "done": result.done,
        "missing": result.missing,
        "failed": list(result.failed),
        "tables": [
            {"title": grid.title, "entries": [encode(entry) for entry in grid.entries]}
            for grid in result.grids
        ],
        "differences": list(result.differences),
        "claims": list(result.reproduction.published.claims),
        "notes": list(result.notes),
        "output": str(page_folder(result)),
    }
