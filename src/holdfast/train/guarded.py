"""`transformers.Trainer` that stops at a loss that is no number, and whose checkpoints are whole.

A checkpoint counts only when it is complete, so a run killed at any moment resumes; a loss or a
weight that is NaN stops every process with the step and the examples.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, Trainer
from transformers.trainer_utils import TrainOutput

from holdfast.errors import RunFailed
from holdfast.implicit.checkpoint import note_connection
from holdfast.text import Wording
from holdfast.train import checkpoint
from holdfast.train.finite import LossWatch, broken_weights

_WATCHED = 100  # losses kept before they are looked at, where nothing is logged or saved


class GuardedTrainer(Trainer):
    """A trainer that trusts neither its losses nor its half-written files."""

    wording: Wording | None = None
    """How texts are worded before the model sees them: saved beside it, where it is known."""

    _watch: LossWatch

    @property
    def plain_model(self) -> PreTrainedModel:
        """The model itself, without what distributed training wraps around it."""
        model: PreTrainedModel = self.accelerator.unwrap_model(self.model)
        return model

    # -- losses that are no numbers -----------------------------------------------------------

    def _look_at_losses(self) -> None:
        """Check now where that costs nothing; else when something is logged or saved."""
        alone_on_cpu = self.accelerator.num_processes == 1 and self.args.device.type == "cpu"
        if alone_on_cpu or len(self._watch.pending) >= _WATCHED:
            self.check_finite()

    def check_finite(self) -> None:
        """Stop every process if one of them met a loss that is no number."""
        problem = self._watch.problem()
        found = torch.tensor(float(problem is not None), device=self.args.device)
        if self.accelerator.reduce(found, reduction="sum").item() > 0:
            raise self._failure(problem or "The loss of another process is no number.")

    def _failure(self, problem: str) -> RunFailed:
        found = checkpoint.complete_checkpoints(Path(self.args.output_dir or ""))
        kept = f"{found[-1]} is the last good checkpoint" if found else "there is no checkpoint yet"
        advice = "try a lower learning rate in a new output folder, or look at the examples"
        return RunFailed(f"{problem} Training stops, and {kept}: {advice}.")

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, unless a loss is no number."""
        self.check_finite()
        for name, value in logs.items():
            if name.endswith("loss") and not math.isfinite(value):
                raise self._failure(f"{name} became {value} at step {self.state.global_step}.")
        super().log(logs, start_time)

    # -- checkpoints --------------------------------------------------------------------------

    def train(
        self,
        resume_from_checkpoint: str | bool | None = None,
        trial: Any = None,
        ignore_keys_for_eval: list[str] | None = None,
    ) -> TrainOutput:
        """Train; `resume_from_checkpoint=True` takes the last complete checkpoint."""
        if resume_from_checkpoint is True:
            resume_from_checkpoint = str(checkpoint.last_complete(Path(self.args.output_dir or "")))
        with self._around_training():
            result = super().train(resume_from_checkpoint, trial, ignore_keys_for_eval)
        self.check_finite()
        return result

    def _around_training(self) -> AbstractContextManager[None]:
        """Return what a training runs in; a subclass may need something of its own."""
        return nullcontext()

    def _run_epoch(self, *args: Any, **options: Any) -> None:
        """Train an epoch, unless training had ended when the checkpoint was written.

        Trainer looks whether it has after a step, and so would always take one.
        """
        if self.control.should_training_stop or self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
            return
        super()._run_epoch(*args, **options)  # type: ignore[no-untyped-call]

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        self.check_finite()
        if problem := broken_weights(self.plain_model, self.state.global_step):
            raise self._failure(problem)
        root = Path(self._get_output_dir(trial))
        folder = root / f"checkpoint-{self.state.global_step}"
        if self.args.should_save:
            checkpoint.unmark(folder)
        # Trainer would remove an older checkpoint while this one does not count yet.
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            super()._save_checkpoint(model, trial)
        finally:
            self.args.save_total_limit = limit
        if self.args.should_save:
            self._save_beside(folder)
        self.accelerator.wait_for_everyone()  # every process writes its random state
        if self.args.should_save:
            checkpoint.mark(folder, self.state.global_step)
            checkpoint.rotate(root, limit, self.state.best_model_checkpoint)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save the model, as `holdfast.implicit.save` does, with its connection beside it."""
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            self._note(Path(output_dir or self.args.output_dir or ""))

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        """Publish the model with its connection and wording: Trainer copies files that it knows."""
        if self.is_world_process_zero():
            self._note(Path(self.args.output_dir or ""))
        super()._push_from_checkpoint(checkpoint_folder)

    def _note(self, folder: Path) -> None:
        """Write beside a model what it needs to be read as it was trained."""
        note_connection(self.plain_model, folder)
        if self.wording is not None:
            self.wording.save(folder)

    def _save_beside(self, folder: Path) -> None:
        """Save into a checkpoint what lives beside the model."""
