r"""Run the experiments of docs/results on one card, as far as the time goes; see --help.

    python scripts/campaign.py --models models --data data --output runs --seconds 570 \
        all-MiniLM-L6-v2:imbert-sst2:0,1,2,3,4 "e5-small:composition:0:Standard,RIFT"

What is ordered first is run first. The same command goes on where it ended. `--pack FILE` puts the
records, without the models, into an archive.
"""

import argparse
import dataclasses
import json
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch._dynamo  # loaded once, before the processes part; so is Trainer
from studies import MODELS, STUDIES, VECTORS, Study
from transformers import Trainer  # noqa: F401

from holdfast.reproduce import REPRODUCTIONS, Cell, Setting, Wanted, find_setting
from holdfast.reproduce.run import Workshop
from holdfast.reproduce.side_by_side import Task, run_side_by_side


@dataclasses.dataclass(frozen=True)
class Order:
    """What is to be run of a study."""

    model: str
    study: Study
    seeds: tuple[int, ...]
    """Of the trainings; how many a recipe has of its own does not matter."""
    rows: frozenset[str]
    """Of its tables; none: all."""

    def wants(self, cell: Cell) -> bool:
        """Whether a cell is part of it."""
        return not self.rows or cell.row in self.rows


def order_of(text: str) -> Order:
    """Read MODEL:STUDY:SEEDS or MODEL:STUDY:SEEDS:ROWS, seeds and rows with commas."""
    model, study, seeds, *rows = text.split(":")
    if model not in MODELS or study not in STUDIES or len(rows) > 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no order; expected MODEL:STUDY:SEEDS[:ROWS], a model of "
            f"{', '.join(MODELS)} and a study of {', '.join(STUDIES)}"
        )
    named = frozenset(row for part in rows for row in part.split(","))
    return Order(model, STUDIES[study], tuple(map(int, seeds.split(","))), named)


def setting_of(study: Study, model: str, options: argparse.Namespace) -> Setting:
    """Return what a study runs with."""
    wanted = Wanted(
        budget=study.budget_for(model),
        output=options.output / model / study.name,
        model=str(options.models / model),
        data=options.development if study.development else options.data,
        reading="aligned",
        precision="bf16",
        wordnet=options.wordnet,
        encoder=options.models / "all-MiniLM-L6-v2",
        vectors=options.data / VECTORS if study.vectors else None,
    )
    return find_setting(wanted)


def cells_of(study: Study, setting: Setting) -> list[Cell]:
    """Return the cells of all its tables, each training once, of the tasks that are run."""
    found: dict[str, Cell] = {}
    for name in study.reproductions:
        for cell in REPRODUCTIONS[name].cells(setting):
            if cell.measure.task in study.tasks:
                wanted = only(study.attacks, cell)
                found[cell.id] = merged(found[cell.id], wanted) if cell.id in found else wanted
    return list(found.values())


def only(attacks: tuple[str, ...], cell: Cell) -> Cell:
    """Return a cell with those of its attacks, or with all if none is named."""
    kept = tuple(attack for attack in cell.measure.attacks if attack in attacks)
    measure = dataclasses.replace(cell.measure, attacks=kept if attacks else cell.measure.attacks)
    return dataclasses.replace(cell, measure=measure)


def merged(one: Cell, other: Cell) -> Cell:
    """Return one training that is measured as two tables want it."""
    attacks = tuple(dict.fromkeys((*one.measure.attacks, *other.measure.attacks)))
    probes = tuple(dict.fromkeys((*one.measure.probes, *other.measure.probes)))
    measure = dataclasses.replace(one.measure, attacks=attacks, probes=probes)
    return dataclasses.replace(one, measure=measure)


def tasks_of(options: argparse.Namespace) -> Iterator[Task]:
    """Yield what is run, in the order of the orders, once; of each seed by seed."""
    seen: set[Path] = set()  # two processes in one folder would spoil each other's files
    for order in options.orders:
        setting = dataclasses.replace(
            setting_of(order.study, order.model, options), seeds=order.seeds
        )
        workshop = Workshop(setting, keep_models=False)
        cells = filter(order.wants, cells_of(order.study, setting))
        for cell in sorted(cells, key=lambda cell: cell.seed):
            if (folder := workshop.place(cell)) not in seen:
                seen.add(folder)
                yield workshop, cell


def choose_kernels() -> None:
    """Leave out cuDNN's attention, a fifth of the GPU's time on short texts; others untried."""
    torch.backends.cuda.enable_cudnn_sdp(False)


def pack(output: Path, file: Path) -> None:
    """Put records, outcomes and notes into one archive, without the models."""
    with tarfile.open(file, "w:xz", preset=2) as archive:
        for path in sorted(output.glob("**/*")):
            kept = path.name == "done.json" or "records" in path.parts
            if path.is_file() and (kept or path.parent == output):
                archive.add(path, path.relative_to(output))


def main() -> None:
    """Run, and write down what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "orders", nargs="+", type=order_of, metavar="MODEL:STUDY:SEEDS[:ROWS]", help="in this order"
    )
    parser.add_argument("--models", type=Path, required=True, help="folder of the encoders")
    parser.add_argument("--data", type=Path, required=True, help="folder of the tasks")
    parser.add_argument("--development", type=Path, help="folder that development.py made")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, default=None)
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument("--pack", type=Path, default=None)
    options = parser.parse_args()
    if options.development is None and any(o.study.development for o in options.orders):
        parser.error("a search needs --development, the folder that development.py makes")
    began = time.time()
    choose_kernels()
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
