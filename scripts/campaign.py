"""Run the experiments of docs/results on one card, as far as the time goes; see --help.

    python scripts/campaign.py --models models --data data --output runs --seconds 570

Studies run seed by seed, so that stopping early leaves fewer seeds of everything. The same command
goes on where it ended. `--pack FOLDER` puts the records, without the models, into archives.
"""

import argparse
import dataclasses
import json
import multiprocessing
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from transformers import Trainer  # noqa: F401  # loaded once, before the processes part

from holdfast.reproduce import REPRODUCTIONS, Cell, Setting, Wanted, find_setting
from holdfast.reproduce.budget import FULL, Budget
from holdfast.reproduce.run import Workshop
from holdfast.reproduce.side_by_side import Task, run_side_by_side

MODELS = {"all-MiniLM-L6-v2": 1e-4, "e5-small": 5e-5}
"""Model to its learning rate: the papers' 2e-5 is for models five times as large."""


@dataclasses.dataclass(frozen=True)
class Study:
    """Reproductions that share a protocol and an output folder."""

    name: str
    reproductions: tuple[str, ...]
    budget: Budget
    tasks: tuple[str, ...]
    """Cells of other tasks are left for another time."""
    after: float = 0.0
    """How many seeds of the others come before its first."""


BASE = dataclasses.replace(FULL, checks=False, clean=2000)
STUDIES = {
    study.name: study
    for study in (
        Study(
            "composition",
            ("composition",),
            dataclasses.replace(BASE, train=10000, attacked=100, epochs=2, batch_size=128),
            ("sst2",),
            after=1.5,
        ),
        Study(
            "rift-imdb",
            ("rift-table1", "rift-table3", "rift-table4"),
            dataclasses.replace(
                BASE, train=1500, attacked=50, epochs=3, batch_size=32, max_length=128
            ),
            ("imdb",),
        ),
        Study(
            "rift-snli",
            ("rift-table2", "rift-table3", "rift-table4"),
            dataclasses.replace(BASE, train=5000, attacked=200, epochs=2, batch_size=96),
            ("snli",),
        ),
        Study(
            "imbert-sst2",
            ("imbert-table1", "imbert-table3"),
            dataclasses.replace(BASE, attacked=100, epochs=1, batch_size=128),
            ("sst2",),
        ),
        Study(
            "imbert-low-resource",
            ("imbert-table2",),
            dataclasses.replace(BASE, attacked=50, epochs=8, batch_size=32),
            ("sst2",),
        ),
        Study(
            "imbert-imdb",
            ("imbert-table5",),
            dataclasses.replace(BASE, train=3000, attacked=20, epochs=2, batch_size=32),
            ("imdb",),
        ),
    )
}


def setting_of(study: Study, model: str, options: argparse.Namespace) -> Setting:
    """Return what a study runs with."""
    wanted = Wanted(
        budget=dataclasses.replace(study.budget, learning_rate=MODELS[model]),
        output=options.output / model / study.name,
        model=str(options.models / model),
        data=options.data,
        reading="aligned",
        precision="bf16",
        wordnet=options.wordnet,
        encoder=options.models / "all-MiniLM-L6-v2",
    )
    return find_setting(wanted)


def cells_of(study: Study, setting: Setting) -> list[Cell]:
    """Return the cells of all its tables, each training once, of the tasks that are run."""
    found: dict[str, Cell] = {}
    for name in study.reproductions:
        for cell in REPRODUCTIONS[name].cells(setting):
            if cell.measure.task in study.tasks:
                found[cell.id] = merged(found[cell.id], cell) if cell.id in found else cell
    return list(found.values())


def merged(one: Cell, other: Cell) -> Cell:
    """Return one training that is measured as two tables want it."""
    attacks = tuple(dict.fromkeys((*one.measure.attacks, *other.measure.attacks)))
    probes = tuple(dict.fromkeys((*one.measure.probes, *other.measure.probes)))
    measure = dataclasses.replace(one.measure, attacks=attacks, probes=probes)
    return dataclasses.replace(one, measure=measure)


def tasks_of(options: argparse.Namespace) -> Iterator[Task]:
    """Yield what is run, in its order: model by model, of each seed by seed."""
    for model in options.only_models:
        found = []
        for name in options.studies:
            study, setting = STUDIES[name], setting_of(STUDIES[name], model, options)
            workshop = Workshop(setting, keep_models=False)
            cells = [cell for cell in cells_of(study, setting) if cell.seed in options.seeds]
            found += [(cell.seed + study.after, workshop, cell) for cell in cells]
        found.sort(key=lambda item: item[0])
        yield from ((workshop, cell) for _, workshop, cell in found)


def pack(output: Path, folder: Path) -> None:
    """Put records, outcomes and notes into an archive for each study."""
    folder.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(len(STUDIES)) as pool:
        pool.starmap(_pack, [(output, name, folder / f"{name}.tar.xz") for name in STUDIES])


def _pack(output: Path, study: str, file: Path) -> None:
    with tarfile.open(file, "w:xz", preset=2) as archive:
        for path in sorted(output.glob(f"*/{study}/**/*")):
            if path.is_file() and (path.name == "done.json" or "records" in path.parts):
                archive.add(path, path.relative_to(output))
        if study == next(iter(STUDIES)):
            for path in sorted(output.glob("campaign-*.jsonl")):
                archive.add(path, path.name)


def main() -> None:
    """Run, and write down what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="folder of the encoders")
    parser.add_argument("--data", type=Path, required=True, help="folder of the tasks")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, default=None)
    parser.add_argument("--studies", nargs="+", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--only-models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument("--pack", type=Path, default=None)
    options = parser.parse_args()
    began = time.time()
    tasks = list(tasks_of(options))
    if options.list:
        for workshop, cell in tasks:
            print(workshop.setting.output, cell.id)
        return
    took = run_side_by_side(tasks, options.processes, seconds=options.seconds)
    line = {"began": began, "seconds": time.time() - began, "processes": options.processes}
    with (options.output / f"campaign-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({**line, "cells": took}) + "\n")
    print(f"{len(took)} of {len(tasks)} cells begun and ended, {time.time() - began:.0f} s")
    if options.pack is not None:
        pack(options.output, options.pack)


if __name__ == "__main__":
    main()
