"""The loss curve as a file, and as a progress bar on stderr."""

import json
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ProgressCallback

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


class Bar(ProgressCallback):
    """Trainer's progress bars with the loss beside them; Trainer's own print it on stdout."""

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
