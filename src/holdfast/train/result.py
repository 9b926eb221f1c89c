"""What a fine-tuning run gives back, read from its record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TrainResult:
    """The outcome of a run; everything here stands in its run.json too."""

    output: Path
    """The run's folder."""
    metrics: Mapping[str, float]
    """Of the best checkpoint: loss, accuracy and, if substitutes are known, hull_accuracy, each as
    `validation_*` and, if measured, `held_out_*`; and `distance` from the pre-trained weights."""
    readings: tuple[Mapping[str, Any], ...]
    """Per layer that solves an equation, on the validation examples; a plain model has none."""
    best_step: int
    """Step of the checkpoint that the selection chose, which is the saved model."""
    seconds: float
    """Time spent in training, evaluations included, over all resumes."""
    peak_memory_bytes: int
    """Of the accelerator, or of the process where there is none."""
    seconds_this_run: float = 0.0
    """Of `seconds`, those since the last resume."""
    majority: Mapping[str, float] = field(default_factory=dict)
    """Part to what always answering its most frequent class would score there."""
    already_done: bool = False
    """Whether an earlier run had finished and nothing was done now."""

    @property
    def model(self) -> Path:
        """Folder of the best model."""
        return self.output / "model"


def result_of(record: Mapping[str, Any], output: Path, *, already_done: bool) -> TrainResult:
    """Read the result from a record."""
    return TrainResult(
        output=output,
        metrics=record["metrics"],
        readings=tuple(record["readings"]),
        best_step=record["best_step"],
        seconds=record["seconds"],
        peak_memory_bytes=record["peak_memory_bytes"],
        seconds_this_run=record.get("seconds_this_run", record["seconds"]),
        majority=record.get("majority", {}),
        already_done=already_done,
    )
