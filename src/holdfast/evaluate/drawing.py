"""The examples of a cell: read, put into the model's labels, drawn by the seed."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.attack import covered
from holdfast.data import Example, Task, evaluation_split, read_file, read_split, sample
from holdfast.errors import InputError
from holdfast.evaluate.cells import Reading
from holdfast.evaluate.fitting import Labels, codes


@dataclass(frozen=True)
class Drawn:
    """Examples with the codes of one model."""

    task: Task
    """With its labels in the model's order."""
    examples: list[Example]
    sha256: str
    """Of the examples and the names of their labels: the same for every model."""
    source: str
    """SHA-256 of the file they were read from."""
    positive: int = 1
    """The model's code of the task's second class, which F1 is about where GLUE counts it."""


def draw(reading: Reading, labels: Labels) -> Drawn:
    """Return the examples of a cell for a model with these labels."""
    task = reading.columns(labels)
    if reading.file is not None:
        split = read_file(task, reading.file, "file")
    else:
        split = read_split(task, evaluation_split(task, reading.data), reading.data)
    found = chosen(split.examples, reading.examples, reading.seed, reading.allowed_sets)
    return drawn_for(labels, task, found, split.source.sha256)


def chosen(
    examples: Sequence[Example], count: int | None, seed: int, allowed_sets: Path | None
) -> Sequence[Example]:
    """Return so many examples, or all; where there are `allowed_sets`, of those that these know."""
    found = examples if allowed_sets is None else covered(examples, allowed_sets)
    return found if count is None or count >= len(found) else sample(found, count, seed=seed)


def drawn_for(labels: Labels, task: Task, examples: Iterable[Example], source: str) -> Drawn:
    """Return examples of a task for a model with these labels."""
    found, order = list(examples), model_codes(task, labels)
    turned = [replace(example, label=order[example.label]) for example in found]
    return Drawn(reordered(task, order), turned, _checksum(task, found), source, order[1])


def model_codes(task: Task, labels: Labels) -> tuple[int, ...]:
    """Return the model's code of each label, or say which labels it does not have."""
    found = codes(task, labels)
    if found is None:
        raise InputError(
            f"The model has the labels {', '.join(labels)} and {task.name} has "
            f"{', '.join(task.labels)}; evaluate a model that was trained for these labels."
        )
    return found


def reordered(task: Task, order: tuple[int, ...]) -> Task:
    """Return the task with its labels in the order of the model's codes."""
    names = dict(zip(order, task.labels, strict=True))
    return replace(task, labels=tuple(names[code] for code in sorted(names)))


def _checksum(task: Task, examples: Iterable[Example]) -> str:
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, example.texts, task.labels[example.label]]
        digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()
