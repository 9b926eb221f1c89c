"""The cells of a suite: each is measured by itself, and is its own record's configuration."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.attack import Material
from holdfast.data import Task, find_task
from holdfast.evaluate.checkpoint import Checkpoint
from holdfast.evaluate.suite import Moving, Suite
from holdfast.victim.precision import Precision


@dataclass(frozen=True)
class Reading:
    """Which examples a cell is about, and how the model reads them."""

    task: str
    """Name of a known task, or the name of `file` without its ending."""
    seed: int
    """Of the examples drawn, and of an attack."""
    examples: int | None
    """How many are drawn; none: all."""
    data: Path | None = None
    """Folder of the tasks; none: the Hub."""
    file: Path | None = None
    """A file of one's own, instead of a known task."""
    texts: tuple[str, ...] = ()
    """Text columns of `file`."""
    label: str = "label"
    """Label column of `file`."""
    allowed_sets: Path | None = None
    """Examples are drawn from those that this file knows; none: from all."""

    @property
    def title(self) -> str:
        """The task, and which sample of it where it is not the first."""
        return f"{self.task} (sample {self.seed})" if self.seed else self.task

    def columns(self, labels: tuple[str, ...]) -> Task:
        """Return the task; a file of one's own has the labels of the model, `labels`."""
        if self.file is None:
            return find_task(self.task)
        return Task(self.task, self.texts, labels, label=self.label)


@dataclass(frozen=True)
class CleanCell:
    """A checkpoint on the texts as they are."""

    checkpoint: Checkpoint
    reading: Reading
    cost: bool = True
    """Whether parameters, operations, latency and memory are measured."""
    precision: Precision = "fp32"
    max_length: int | None = None

    @property
    def stem(self) -> Path:
        """Where its record lies, without an ending."""
        return _stem(self.checkpoint, self.reading, "clean")

    @property
    def title(self) -> str:
        """What is measured, for a reader."""
        return f"{self.checkpoint.title}, {self.reading.title}, clean"


@dataclass(frozen=True)
class AttackCell:
    """A checkpoint under one attack."""

    checkpoint: Checkpoint
    reading: Reading
    attack: str
    material: Material = Material()
    moving: Moving = "last"
    stability: bool = True
    """Whether it is measured how far hidden states move."""
    precision: Precision = "fp32"
    max_length: int | None = None
    certify: bool = False
    """Whether it is proved of an example first that nothing would be found."""

    @property
    def stem(self) -> Path:
        """Where its record lies, without an ending."""
        return _stem(self.checkpoint, self.reading, self.attack)

    @property
    def title(self) -> str:
        """What is measured, for a reader."""
        return f"{self.checkpoint.title}, {self.reading.title}, {self.attack}"


@dataclass(frozen=True)
class AdaptiveCell:
    """A checkpoint under attacks that are made for it: by its gradients, by texts of another."""

    checkpoint: Checkpoint
    reading: Reading
    material: Material = Material()
    reference: str | None = None
    """Name of the checkpoint that the adversarial texts were found on; none: no such texts."""
    found_by: str | None = None
    """Attack that found them."""
    moving: Moving = "last"
    precision: Precision = "fp32"
    max_length: int | None = None
    first: int | None = None
    """How many of the examples are attacked, drawn by the seed; none: all."""
    certify: bool = False
    """Whether it is proved of an example first that nothing would be found."""

    @property
    def seen(self) -> Reading:
        """Which examples are attacked: the start of those that other attacks were given."""
        counts = [n for n in (self.first, self.reading.examples) if n is not None]
        return replace(self.reading, examples=min(counts, default=None))

    @property
    def stem(self) -> Path:
        """Where its record lies, without an ending."""
        return _stem(self.checkpoint, self.reading, "adaptive")

    @property
    def title(self) -> str:
        """What is measured, for a reader."""
        return f"{self.checkpoint.title}, {self.reading.title}, adaptive"


@dataclass(frozen=True)
class AdvGLUECell:
    """A checkpoint on one task of AdvGLUE."""

    checkpoint: Checkpoint
    part: str
    """The task as AdvGLUE calls it."""
    file: Path
    """dev_ann.json"""
    precision: Precision = "fp32"
    max_length: int | None = None

    @property
    def stem(self) -> Path:
        """Where its record lies, without an ending."""
        return self.checkpoint.place / "advglue" / self.part

    @property
    def title(self) -> str:
        """What is measured, for a reader."""
        return f"{self.checkpoint.title}, advglue/{self.part}"


@dataclass(frozen=True)
class AdvGLUETotal:
    """The six tasks of AdvGLUE together, by one checkpoint or by one for each task."""

    parts: tuple[AdvGLUECell, ...]


Cell = CleanCell | AttackCell | AdaptiveCell | AdvGLUECell


def _stem(checkpoint: Checkpoint, reading: Reading, what: str) -> Path:
    return checkpoint.place / reading.task / f"{what}-{reading.seed}"


def cells_of(
    checkpoint: Checkpoint, suite: Suite, tasks: tuple[str, ...], parts: tuple[str, ...]
) -> Iterator[Cell]:
    """Yield the cells of a checkpoint: of `tasks`, of its own file, of AdvGLUE's tasks `parts`."""
    for reading in _readings(suite, tasks):
        yield from _cells_on(checkpoint, suite, reading)
    if (file := suite.advglue) is not None:
        for part in parts:
            yield AdvGLUECell(checkpoint, part, file, suite.precision, suite.max_length)


def _readings(suite: Suite, tasks: tuple[str, ...]) -> Iterator[Reading]:
    sets = suite.material.allowed_sets if suite.attacks else None
    for seed in suite.seeds:
        for task in tasks:
            yield Reading(task, seed, suite.examples, data=suite.data, allowed_sets=sets)
        if suite.file is not None:
            own = (None, suite.file, suite.texts, suite.label, sets)
            yield Reading(suite.file.stem, seed, suite.examples, *own)


def _cells_on(checkpoint: Checkpoint, suite: Suite, reading: Reading) -> Iterator[Cell]:
    precision, max_length, material = suite.precision, suite.max_length, suite.material
    clean = reading
    if suite.clean_examples != "same":
        clean = replace(reading, examples=suite.clean_examples)
    yield CleanCell(checkpoint, clean, suite.cost, precision, max_length)
    for attack in suite.attacks:
        how = (material, suite.moving, suite.stability, precision, max_length, suite.certify)
        yield AttackCell(checkpoint, reading, attack, *how)
    if suite.adaptive and suite.attacks:
        another = suite.reference if suite.reference != checkpoint.name else None
        found_by = suite.attacks[0] if another else None
        texts = (another, found_by, suite.moving, precision, max_length)
        seen = (suite.adaptive_examples, suite.certify)
        yield AdaptiveCell(checkpoint, reading, material, *texts, *seen)
