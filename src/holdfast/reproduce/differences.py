"""Sentences on where a reproduction is not the paper's experiment; there are always some."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.reproduce.budget import FULL
from holdfast.reproduce.cell import GENETIC, Cell, Measure
from holdfast.reproduce.recipe import Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.train import TrainConfig

SIZES = {
    "sst2": 67349,
    "qqp": 363846,
    "qnli": 104743,
    "mnli": 392702,
    "rte": 2490,
    "imdb": 25000,
    "snli": 549367,
}
"""Training examples of the tasks as published."""
ATTACKED = 1000


def differences(
    reproduction: Reproduction, setting: Setting, cells: Sequence[Cell]
) -> Iterator[str]:
    """Yield the sentences: model, data, protocol, attacks."""
    yield from _model(reproduction, setting)
    yield from _data(setting, cells)
    yield from _protocol(reproduction, setting, cells)
    yield from _attacks(setting, cells)
    yield from reproduction.differs


def _model(reproduction: Reproduction, setting: Setting) -> Iterator[str]:
    shape, name = setting.shape, setting.model.rstrip("/")
    folder = Path(name).absolute()
    shown = folder.parent.name if folder.name == "model" else folder.name
    theirs = "RoBERTa" if shape.roberta else "bert-base-uncased"
    if shown == "bert-base-uncased":
        return
    yield (
        f"The model is {shown} ({shape.family}, {shape.layers} layers of width {shape.width}), "
        f"the paper's {theirs}{'' if shape.roberta else ' (12 layers of width 768)'}."
    )
    if reproduction.name.startswith("rift") and not shape.pooler:
        yield "The checkpoint has no pooler: RIFT's features are the first token's last state."


def _data(setting: Setting, cells: Sequence[Cell]) -> Iterator[str]:
    tasks = list(dict.fromkeys(cell.measure.task for cell in cells))
    if setting.demo:
        yield (
            f"In place of {' and '.join(tasks)} stand Rotten Tomatoes sentences, those of "
            "`holdfast demo`; give --data for the task's own."
        )
    for task in tasks:
        trained = [c for c in cells if c.train is not None and c.measure.task == task]
        used = [count for cell in trained if (count := _trained_on(setting, cell)) is not None]
        if used and max(used) < SIZES[task] and not _low_resource(trained):
            yield (
                f"{task}: trained on {max(used):,} of the {SIZES[task]:,} examples that the task "
                "has."
            )
    if "qqp" in tasks and setting.data and list(setting.data.glob("qqp/test_bimpm*")):
        yield "qqp: clean accuracy is on the test set of Wang et al. 2017, not on GLUE's."
    if any(cell.measure.advglue for cell in cells) and setting.advglue is None:
        yield (
            "There is no AdvGLUE here (advglue/dev_ann.json in the data folder), so everything "
            "that is measured on it is missing."
        )


def _trained_on(setting: Setting, cell: Cell) -> int | None:
    """Return how many examples a training had; before it has run, how many it will draw."""
    record = setting.output / "cells" / cell.id / "run" / "run.json"
    if record.is_file():
        parts = json.loads(record.read_text(encoding="utf-8"))["data"]["parts"]
        return sum(int(parts[name]["examples"]) for name in ("train", "validation"))
    return None if cell.train is None else cell.train.data.examples


def _low_resource(cells: Sequence[Cell]) -> bool:
    """Whether the cells differ in how many examples they draw, as a table of sizes does."""
    return len({cell.train.data.examples for cell in cells if cell.train is not None}) > 1


def _protocol(reproduction: Reproduction, setting: Setting, cells: Sequence[Cell]) -> Iterator[str]:
    paper = replace(setting, budget=FULL, precision="fp32", seeds=None)
    known = {(c.row, c.measure.task): c.train for c in reproduction.cells(paper) if c.train}
    changed: dict[str, None] = {}
    for cell in cells:
        theirs = known.get((cell.row, cell.measure.task))
        if cell.train is not None and theirs is not None:
            changed |= dict.fromkeys(_changes(cell.train, theirs))
    if changed:
        yield f"Training is not the protocol's: {', '.join(changed)}."
    measured_in = setting.budget.measured_in or setting.precision
    if measured_in != setting.precision:
        yield f"Models are trained in {setting.precision} and measured in {measured_in}."
    seeds = sorted({cell.seed for cell in cells if cell.train is not None})
    if len(seeds) == 1:
        yield "One seed of training: no spread over seeds can be given."


def _changes(ours: TrainConfig, theirs: TrainConfig) -> Iterator[str]:
    """Yield in words what differs between two trainings."""
    for name, of in _COMPARED.items():
        one, other = of(ours), of(theirs)
        if one != other and other is not None:
            yield f"{name} {_shown(one)} instead of {_shown(other)}"


_COMPARED: dict[str, Any] = {
    "training examples": lambda c: c.data.examples,
    "epochs": lambda c: c.optimisation.epochs,
    "learning rate": lambda c: c.optimisation.learning_rate,
    "batch": lambda c: c.optimisation.batch_size,
    "tokens": lambda c: c.data.max_length,
    "share held back": lambda c: c.data.validation_share,
    "inner steps": lambda c: getattr(c.objective, "steps", None),
    "precision": lambda c: c.optimisation.precision,
}


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _attacks(setting: Setting, cells: Sequence[Cell]) -> Iterator[str]:
    attacks = {attack for cell in cells for attack in cell.measure.attacks_run}
    tasks = {cell.measure.task for cell in cells}
    wants_genetic = any(GENETIC in cell.measure.attacks for cell in cells)
    if wants_genetic and GENETIC not in attacks:
        yield "The genetic search is left out."
    if not attacks:
        return
    yield from _attacked([part for cell in cells for part in cell.measure.parts()])
    if setting.lexicon is None:
        yield (
            "Substitutes are those of the cached lexicon or of WordNet, not the counter-fitted "
            "neighbours of the papers (substitutions/counterfitted_neighbors.json)."
        )
    if GENETIC in attacks and not tasks <= set(setting.allowed):
        yield (
            "No language model limits the genetic attack's substitutes "
            "(substitutions/*_test_lm_filtered.json): it is stronger than the paper's."
        )
    if wants_genetic and setting.reading == "aligned":
        yield "Models read with their own pieces; the released code gives every word one token."
    if "textfooler" in attacks:
        yield from _textfooler(setting)


def _attacked(measures: Sequence[Measure]) -> Iterator[str]:
    fewest = min(measure.examples for measure in measures if measure.attacks)
    most = max(measure.examples for measure in measures if measure.attacks)
    if most < ATTACKED:
        yield f"{most} examples are attacked; the paper has 1,000 where it tells."
    if fewest < most:
        yield f"The genetic search is given {fewest} of the {most} examples that are attacked."


def _textfooler(setting: Setting) -> Iterator[str]:
    if setting.encoder is None:
        yield "TextFooler has no sentence encoder here, so nothing bounds the change of meaning."
    else:
        yield (
            f"TextFooler's sentence encoder is {setting.encoder.name}, not the Universal Sentence "
            "Encoder."
        )
    if setting.vectors is None:
        yield (
            "TextFooler's neighbours are the lexicon's, not the 50 nearest of word vectors, which "
            "--vectors FILE would give."
        )
    else:
        yield f"TextFooler's neighbours are the 50 nearest vectors of {setting.vectors.name}."
