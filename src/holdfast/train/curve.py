"""What is seen of a run while it runs: its loss curve as a file, its bars, its clock."""

import json
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import (
    EarlyStoppingCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import ExportableState, ProgressCallback

from holdfast.train.checkpoint import write_atomically

_NOT_A_CURVE = ("_runtime", "_per_second", "_time", "_flos")


class LossCurve(TrainerCallback):
    """Writes every line of the loss curve to a file as soon as it is known.

    A resumed run starts from the lines its checkpoint knows, so the file of a run that was
    killed equals that of one that was not.
    """

    def __init__(self, path: Path) -> None:
        """Write to `path`."""
        self.path = path

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Write the lines from before a resume."""
        if state.is_world_process_zero:
            write_atomically(self.path, "".join(map(_line, state.log_history)))

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Append the newest line."""
        if state.is_world_process_zero and (line := _line(state.log_history[-1])):
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """End with a checkpoint, and log at each: averages must not span a place to resume."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True
        control.should_log = control.should_log or control.should_save
        return control

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Log at the checkpoint of the epoch, unless it was just written."""
        ended = state.global_step >= state.max_steps
        control.should_evaluate = control.should_evaluate and not ended
        control.should_save = control.should_save and not ended
        control.should_log = control.should_log or control.should_save
        return control


def _line(entry: dict[str, Any]) -> str:
    if "loss" not in entry and "eval_loss" not in entry:
        return ""
    kept = {name: entry[name] for name in sorted(entry) if not name.endswith(_NOT_A_CURVE)}
    return json.dumps({"step": kept.pop("step"), **kept}) + "\n"


class Clock(TrainerCallback, ExportableState):
    """Counts the seconds of training; every checkpoint knows them, so a killed run adds up.

    What was done after the last checkpoint is lost, and its time does not count either.
    """

    def __init__(self) -> None:
        """Start at zero, and not before training does."""
        self.before = 0.0
        self.started: float | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Take over the seconds that the checkpoint knows."""
        known: Any = state.stateful_callbacks
        if isinstance(known, dict) and type(self).__name__ in known:
            self.before = float(known[type(self).__name__]["attributes"]["seconds"])
        self.started = time.perf_counter()

    @property
    def this_run(self) -> float:
        """Seconds since training began in this process."""
        return 0.0 if self.started is None else time.perf_counter() - self.started

    def state(self) -> dict[str, Any]:
        """Return what Trainer stores in a checkpoint."""
        return {"args": {}, "attributes": {"seconds": self.before + self.this_run}}


class Patience(EarlyStoppingCallback):
    """Stops after so many evaluations without a better one, counted on over a resume.

    Trainer's own forgets its count, unless every callback is restored.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Take over the count that the checkpoint knows, which may have ended training already."""
        known: Any = state.stateful_callbacks
        if isinstance(known, dict) and type(self).__name__ in known:
            kept = known[type(self).__name__]["attributes"]
            self.early_stopping_patience_counter = int(kept["early_stopping_patience_counter"])
        if self.early_stopping_patience_counter >= self.early_stopping_patience:
            control.should_training_stop = True


class Bar(ProgressCallback):
    """Trainer's progress bars with a name, and the loss beside them, on stderr."""

    def __init__(self) -> None:
        """Expect training, with its validation."""
        super().__init__()
        self.part = "validation"
        """What is being evaluated."""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Show how far training is, from the step that it resumes at."""
        self.current_step = state.global_step
        if state.is_world_process_zero:
            self.training_bar: Any = tqdm(
                total=state.max_steps,
                initial=state.global_step,
                desc="training",
                dynamic_ncols=True,
            )

    def on_prediction_step(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        eval_dataloader: Any = None,
        **_: Any,
    ) -> None:
        """Show how far evaluation is."""
        if state.is_world_process_zero:
            if self.prediction_bar is None:
                self.prediction_bar: Any = tqdm(
                    total=len(eval_dataloader),
                    desc=self.part,
                    leave=self.training_bar is None,
                    dynamic_ncols=True,
                )
            self.prediction_bar.update(1)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Show the newest loss."""
        shown = {name: logs[name] for name in ("loss", "eval_loss") if logs and name in logs}
        bar: Any = self.training_bar
        if bar is not None and shown:
            bar.set_postfix(shown)
