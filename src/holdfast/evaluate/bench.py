"""A checkpoint that is loaded, with what its cells share, and the head of their records."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from holdfast.attack import Machine
from holdfast.evaluate.cells import Cell
from holdfast.evaluate.fitting import Fitted
from holdfast.evaluate.measured import Measured
from holdfast.evaluate.progress import Progress
from holdfast.evaluate.supplies import Supplies
from holdfast.record import RunRecord, encode
from holdfast.victim import ModelVictim, Victim


@dataclass(frozen=True, eq=False)
class Bench:
    """Where the cells of one checkpoint are measured."""

    fitted: Fitted
    victim: Victim
    out: Path
    """Folder of all results."""
    supplies: Supplies
    machine: Machine
    progress: Progress
    environment: Mapping[str, Any]
    """Versions, commit, machine."""

    def head(
        self,
        cell: Cell,
        task: str,
        checksums: Mapping[str, str],
        *,
        attack: str | None = None,
        seeds: Mapping[str, int] | None = None,
    ) -> RunRecord:
        """Return the record of a cell as far as it is known before anything is measured."""
        checkpoint, training = self.fitted.checkpoint, self.fitted.training
        return RunRecord(
            kind="evaluation",
            model=checkpoint.name,
            task=task,
            seed=checkpoint.seed,
            config=encode(cell),
            attack=attack,
            training=None if training is None else training.training,
            checksums={"model": self.victim.fingerprint, "labels": self._labels, **checksums},
            seeds=seeds or {},
        )

    @property
    def _labels(self) -> str:
        """Checksum of the names of the classes: they say which answer is right."""
        return hashlib.sha256(json.dumps(self.fitted.labels).encode()).hexdigest()

    @property
    def device(self) -> str:
        """Name of what the model runs on."""
        return device_name(self.victim)

    def completed(self, head: RunRecord, measured: Measured, seconds: float) -> RunRecord:
        """Return the whole record."""
        return replace(
            head,
            metrics=measured.metrics,
            series=measured.series,
            marks=dict(measured.marks),
            notes=(*head.notes, *measured.notes),
            environment=self.environment,
            device=self.device,
            seconds=round(seconds, 3),
        )


def device_name(victim: Victim) -> str:
    """Return the name of what a model runs on; of a function that is not known."""
    if not isinstance(victim, ModelVictim):
        return ""
    device: Any = victim.model.device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device.type)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A cell that can be measured."""

    head: RunRecord
    """Its record without numbers: what an earlier record is compared with."""
    measure: Callable[[], Measured | None]
    """Measures; nothing comes out in a process that only helps."""
    refresh: Callable[[RunRecord], RunRecord] | None = None
    """Brings a finished record up to date with the records beside it; none: it needs none."""
