"""Cell: one training and what is measured of it; the unit that is resumed, shared and sharded."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from holdfast.errors import InputError
from holdfast.record import encode
from holdfast.text import Canonical
from holdfast.train import TrainConfig

Sample = Literal["published", "test", "covered", "textfooler"]
Probe = Literal["growth", "features", "cost"]
GENETIC = "genetic_jia"


@dataclass(frozen=True)
class Measure:
    """What is measured of a model."""

    task: str
    """The known task whose published split is read and attacked."""
    attacks: tuple[str, ...] = ()
    """Names of attacks; the texts as they are are measured in any case."""
    examples: int = 1000
    """How many are drawn from the sample."""
    sample: Sample = "published"
    """The split that is reported on; the test split, also where there is a validation split; its
    texts that have language-model-filtered substitutes; or the thousand that TextFooler was
    released with. Where a data folder lacks the last two: the first."""
    evaluated: bool = True
    """Whether the accuracy is measured at all; else the training or a probe is of interest."""
    advglue: bool = False
    """Whether AdvGLUE's rows of the task are read, too."""
    probes: tuple[Probe, ...] = ()
    """What else: how a perturbation grows through the layers, a map of the features, what a
    forward pass of 128 tokens costs."""
    genetic_examples: int | None = None
    """How many are drawn for the genetic search, 0: it is left out; none: as many as for the
    others."""

    @property
    def attacks_run(self) -> tuple[str, ...]:
        """Those of the attacks that are run."""
        return tuple(attack for part in self.parts() for attack in part.attacks)

    def parts(self) -> list["Measure"]:
        """Return it once for each number of examples, with the attacks that are given so many."""
        others = tuple(attack for attack in self.attacks if attack != GENETIC)
        fewer = self.genetic_examples
        if fewer is None or fewer >= self.examples or others == self.attacks:
            return [dataclasses.replace(self, genetic_examples=None)]
        part = dataclasses.replace(self, attacks=others, genetic_examples=None)
        genetic = dataclasses.replace(part, attacks=(GENETIC,), examples=fewer)
        return [part, genetic] if fewer else [part]

    def written(self) -> dict[str, Any]:
        """Return it as it is noted; what came later is left out where it says nothing."""
        found: dict[str, Any] = json.loads(json.dumps(encode(self)))
        if self.genetic_examples is None:
            del found["genetic_examples"]
        return found


@dataclass(frozen=True)
class Cell:
    """One model of a table."""

    row: str
    """What the records call the model; letters, digits, dots, dashes and spaces."""
    columns: tuple[str, ...]
    """Where in the table its numbers go."""
    train: TrainConfig | None
    """How it is trained; none: the pre-trained model is measured as it came."""
    measure: Measure
    seed: int = 0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w. -]*", self.row):
            raise InputError(f"The row {self.row!r} cannot be the name of a folder.")

    @property
    def id(self) -> str:
        """A name for its folder: the same wherever the same training is asked for."""
        named = re.sub(r"[^a-z0-9]+", "-", self.row.lower()).strip("-")
        return f"{named}-{self.measure.task}-s{self.seed}-{self._digest()}"

    def _digest(self) -> str:
        # Where it is written does not matter; what is measured of a training can grow.
        if self.train is None:
            what = self.measure.written()
        else:
            what = encode(dataclasses.replace(self.train, output=Path()))
            what["canonical"] = _told(self.train.canonical)
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]


def _told(canonical: Canonical | None) -> dict[str, Any] | None:
    """Return the settings that are not as usual: with one that comes later, cells are the same."""
    usual, own = encode(Canonical()), encode(canonical)
    if own is None:
        return None
    told = {name: value for name, value in own.items() if value != usual[name]}
    # where a setting stands among the others makes no other cell either
    return dict(sorted(told.items(), key=lambda item: item[0] == "lexicon"))


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Return each training once: tables share some."""
    return list({cell.id: cell for cell in cells}.values())


@dataclass(frozen=True)
class Probed:
    """A cell and what it was run on: the configuration of a probe's record."""

    cell: Cell
    model: str
    """The pre-trained checkpoint."""
    data: Path | None
    reading: Literal["word_level", "aligned"]


def name_of(row: str) -> str:
    """Return a row of a paper's table as the name of a model: `IM-BERT T=5, N=500` has signs."""
    return " ".join(re.sub(r"[^\w. -]+", " ", row.replace("=", "")).split())
