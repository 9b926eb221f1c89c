"""`transformers.Trainer` with an objective in place of the model's own loss.

Everything else (devices, precision, DDP, accumulation, schedules, loggers) is Trainer's. Added: an
objective may yield several losses a step, a loss that is no number stops the run, and a checkpoint
counts only when it is complete.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import EvalPrediction, TrainOutput

from holdfast.errors import HoldfastError, InputError, RunFailed
from holdfast.implicit import Connection, connect
from holdfast.implicit.checkpoint import note_connection
from holdfast.objectives import Objective, Standard
from holdfast.train import checkpoint
from holdfast.train import extras as beside
from holdfast.train.arguments import one_device_a_process
from holdfast.train.averages import PartAverages
from holdfast.train.finite import LossWatch, broken_weights
from holdfast.train.passes import Passes

ROWS = "ids"
"""Column of a batch that tells which rows it is made of; the model never sees it."""

_WATCHED = 100  # losses kept before they are looked at, where nothing is logged or saved


class RobustTrainer(Trainer):
    """Trains a model with an `Objective`, connected by a `Connection` if one is given.

    Takes what `Trainer` takes, by name, except `compute_loss_func`: the objective is the loss. A
    connected model is taken as it is. `row_names` name the training rows in errors, if batches
    carry row numbers as `ids`.
    """

    # Each loss is the mean over its batch, so Trainer divides it by the batches it accumulates.
    loss_is_scaled_for_ga = False

    _passes: Passes  # of the batch in work
    _rows: Tensor | None = None  # which examples it is made of

    def __init__(
        self,
        model: PreTrainedModel | None = None,
        objective: Objective | None = None,
        connection: Connection | None = None,
        *,
        args: TrainingArguments | None = None,
        data_collator: Callable[..., Any] | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        model_init: Callable[..., PreTrainedModel] | None = None,
        compute_metrics: Callable[[EvalPrediction], dict[str, float]] | None = None,
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        optimizer_cls_and_kwargs: tuple[type[torch.optim.Optimizer], dict[str, Any]] | None = None,
        preprocess_logits_for_metrics: Callable[[Tensor, Tensor], Tensor] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        """Connect the model, build the trainer, then the objective's extras."""
        self.objective: Objective = Standard() if objective is None else objective
        self._parts, self._watch = PartAverages(), LossWatch(row_names)
        self._connect(model, connection)
        super().__init__(
            model=model,
            args=one_device_a_process(args),
            data_collator=data_collator,
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            processing_class=processing_class,
            model_init=model_init,
            compute_metrics=compute_metrics,
            callbacks=callbacks,
            optimizers=optimizers,
            optimizer_cls_and_kwargs=optimizer_cls_and_kwargs,
            preprocess_logits_for_metrics=preprocess_logits_for_metrics,
        )
        if model is not None:
            self.extras = self._extras_of(model)
        self.add_callback(beside.ZeroExtras(lambda: self.extras))
        self._refuse_unfit()

    # -- the model, and what lives beside it --------------------------------------------------

    def _connect(self, model: PreTrainedModel | None, connection: Connection | None) -> None:
        self.connection = connection
        if model is not None and connection is not None:
            connect(model, connection)

    def call_model_init(self, trial: Any = None) -> nn.Module:
        """Return a new model, connected and with extras of its own."""
        model: PreTrainedModel = super().call_model_init(trial)  # type: ignore[assignment]
        self._connect(model, self.connection)
        self.extras = self._extras_of(model)
        return model

    @property
    def plain_model(self) -> PreTrainedModel:
        """The model itself, without what distributed training wraps around it."""
        model: PreTrainedModel = self.accelerator.unwrap_model(self.model)
        return model

    def _extras_of(self, model: nn.Module) -> nn.Module:
        extras: nn.Module = self.objective.extras(model).to(self.args.device)
        beside.make_equal(extras, self.accelerator)
        return extras

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Build the optimizer over the model and the trainable part of the extras."""
        optimizer: torch.optim.Optimizer = super().create_optimizer(model)
        beside.join_optimizer(self.extras, optimizer, self.args.weight_decay)
        return optimizer

    def _clip_grad_norm(self, model: nn.Module) -> Any:
        """Clip the model's gradients, and those of the extras by their own norm."""
        norm = super()._clip_grad_norm(model)  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(beside.trainable(self.extras), self.args.max_grad_norm)
        return norm

    def _refuse_unfit(self) -> None:
        name = type(self.objective).__name__
        if self.args.label_smoothing_factor != 0:
            raise InputError(
                f"label_smoothing_factor changes Trainer's own loss, and the loss here is {name}; "
                "leave it at 0."
            )
        if self.is_deepspeed_enabled and (
            self.objective.passes > 1 or beside.trainable(self.extras)
        ):
            raise InputError(
                "DeepSpeed takes an optimizer step after every backward and knows only the model, "
                f"so {name} cannot run under it; use DDP."
            )

    # -- one step -----------------------------------------------------------------------------

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None
    ) -> Tensor:
        """Differentiate every loss the objective yields for this batch; return their sum.

        Each pass is one plain step of Trainer, in which `compute_loss` asks for the next loss.
        Without a number of items Trainer divides by the accumulated batches, which is right
        for losses that are means.
        """
        self._rows = inputs.pop(ROWS, None)
        self._passes = Passes(self.objective)
        last = self.objective.passes - 1
        try:
            totals = [self._one_pass(model, inputs, hold=i < last) for i in range(last + 1)]
        except HoldfastError as error:
            if problem := self._watch.problem():  # an earlier NaN is the cause
                raise self._failure(problem) from error
            raise
        self._passes.finish()
        if self.accelerator.sync_gradients:
            beside.average_gradients(self.extras, self.accelerator)
        self._look_at_losses()
        return torch.stack(totals).sum()

    def _one_pass(self, model: nn.Module, inputs: dict[str, Any], *, hold: bool) -> Tensor:
        # DDP decides in the forward pass whether the backward pass will synchronise, so the
        # context opens before the objective runs. Inside an accumulated batch it is open already.
        hold = hold and self.accelerator.sync_gradients
        with self.accelerator.no_sync(model) if hold else contextlib.nullcontext():
            total: Tensor = super().training_step(model, inputs)
            return total

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the objective's next loss in training; the model's own loss in evaluation."""
        if return_outputs:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        loss = self._passes.next(model, self.extras, inputs)
        self._parts.add(loss.parts)
        self._watch.add(self.state.global_step + 1, loss.total, self._rows)
        return loss.total

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
        """Log, adding to a line of the loss curve the averages of the objective's parts."""
        self.check_finite()
        for name, value in logs.items():
            if name.endswith("loss") and not math.isfinite(value):
                raise self._failure(f"{name} became {value} at step {self.state.global_step}.")
        if "loss" in logs:
            logs.update(self._parts.drain(lambda t: self.accelerator.reduce(t, reduction="mean")))
        super().log(logs, start_time)

    # -- rows: which examples a batch is made of ----------------------------------------------

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns
        if ROWS not in columns:
            columns.append(ROWS)

    def prediction_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Evaluate one batch without its row numbers."""
        seen = {name: value for name, value in inputs.items() if name != ROWS}
        return super().prediction_step(model, seen, prediction_loss_only, ignore_keys)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        """Return batches of every example, also where incomplete ones are left out of training."""
        drop, self.args.dataloader_drop_last = self.args.dataloader_drop_last, False
        try:
            return super().get_eval_dataloader(eval_dataset)
        finally:
            self.args.dataloader_drop_last = drop

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
        result = super().train(resume_from_checkpoint, trial, ignore_keys_for_eval)
        self.check_finite()
        return result

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
            beside.save_extras(self.extras, folder)
        self.accelerator.wait_for_everyone()  # every process writes its random state
        if self.args.should_save:
            checkpoint.mark(folder, self.state.global_step)
            checkpoint.rotate(root, limit, self.state.best_model_checkpoint)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save the model, as `holdfast.implicit.save` does, with its connection beside it."""
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            note_connection(self.plain_model, Path(output_dir or self.args.output_dir or ""))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        beside.load_extras(self.extras, Path(resume_from_checkpoint))

    def _load_best_model(self) -> None:
        super()._load_best_model()
        beside.load_extras(self.extras, Path(self.state.best_model_checkpoint or ""))
