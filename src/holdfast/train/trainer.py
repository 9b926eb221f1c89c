"""`transformers.Trainer` with an objective in place of the model's own loss.

Everything else (devices, precision, DDP, accumulation, schedules, loggers) is Trainer's. Added: an
objective may yield several losses a step, may keep a module beside the model, may want batches
with equal numbers of each class, and may be held near the pre-trained model by an anchor.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, TrainingArguments

from holdfast.anchors import Anchor, OptimizerChoice, Reference
from holdfast.errors import HoldfastError, InputError
from holdfast.implicit import Connection, connect
from holdfast.objectives import Objective, Standard
from holdfast.train import extras as beside
from holdfast.train.arguments import one_device_a_process
from holdfast.train.averages import PartAverages
from holdfast.train.columns import EXTRA_COLUMNS, ROWS, mark_movable
from holdfast.train.evaluating_trainer import EvaluatingTrainer
from holdfast.train.finite import LossWatch
from holdfast.train.options import TrainerOptions, refuse_unknown, with_collator
from holdfast.train.passes import Passes
from holdfast.train.robustness import HullCheck
from holdfast.train.sampler import FollowEpochs, choose_sampler
from holdfast.train.unfit import refuse_unfit


class RobustTrainer(EvaluatingTrainer):
    """Trains a model with an `Objective`, connected by a `Connection` if one is given.

    Takes what `Trainer` takes, by name, except `compute_loss_func`: the objective is the loss. A
    connected model is taken as it is. `anchor` keeps the weights near those the model has now,
    except `new_weights`. To every evaluation `check` adds the accuracy inside the hull of the words
    and `track_distance` the distance from those weights. `row_names` name the training rows in
    errors, if batches carry row numbers as `ids`. `recorded` and `by_length`: see `Optimisation`.
    """

    # Each loss is the mean over its batch, so Trainer divides it by the batches it accumulates.
    loss_is_scaled_for_ga = False

    _passes: Passes | None = None  # of the batch in work
    _rows: Tensor | None = None  # which examples it is made of

    def __init__(
        self,
        model: PreTrainedModel | None = None,
        objective: Objective | None = None,
        connection: Connection | None = None,
        *,
        args: TrainingArguments | None = None,
        anchor: Anchor | None = None,
        new_weights: Sequence[str] = (),
        check: HullCheck | None = None,
        track_distance: bool = False,
        row_names: Sequence[str] | None = None,
        recorded: bool = False,
        by_length: bool = False,
        **options: Unpack[TrainerOptions],
    ) -> None:
        """Connect the model, build the trainer, then the objective's extras."""
        refuse_unknown(options)
        if isinstance(objective, TrainingArguments):  # as `Trainer` takes them
            raise InputError(
                "RobustTrainer takes its training arguments by name: RobustTrainer(model, "
                "objective, args=...)."
            )
        self.objective: Objective = Standard() if objective is None else objective
        self._parts, self._watch = PartAverages(), LossWatch(row_names)
        self.anchor, self.new_weights = anchor, new_weights
        self.check, self.track_distance = check, track_distance
        self._connect(model, connection)
        super().__init__(model=model, args=one_device_a_process(args), **with_collator(options))
        self.recorded, self.by_length = recorded, by_length
        self.track_distance = track_distance and not self.is_fsdp_enabled  # weights in shards
        if model is not None:
            self._prepare_beside(model)
        self.add_callback(beside.ZeroExtras(lambda: self.extras))
        refuse_unfit(self)

    # -- the model, and what lives beside it --------------------------------------------------

    def _connect(self, model: PreTrainedModel | None, connection: Connection | None) -> None:
        self.connection = connection
        if model is not None and connection is not None:
            connect(model, connection)

    def call_model_init(self, trial: Any = None) -> nn.Module:
        """Return a new model, connected, with extras and an anchor of its own."""
        model: PreTrainedModel = super().call_model_init(trial)  # type: ignore[assignment]
        # Trainer would move it later, and what lives beside it is made now
        nn.Module.to(model, self.args.device)
        self._connect(model, self.connection)
        self._prepare_beside(model)
        return model

    def _prepare_beside(self, model: PreTrainedModel) -> None:
        self.extras: nn.Module = self.objective.extras(model).to(self.args.device)
        beside.make_equal(self.extras, self.accelerator)
        if self.anchor is not None or self.track_distance:
            self.reference = Reference.of(model, self.new_weights)
        if self.anchor is not None:
            self.anchor.attach(model, self.reference)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Build the optimizer, or the anchor's, over the model and the extras' trainable part."""
        usual, self.optimizer_cls_and_kwargs = (
            self.optimizer_cls_and_kwargs,
            self.optimizer_choice(),
        )
        try:
            optimizer: torch.optim.Optimizer = super().create_optimizer(model)
        finally:
            self.optimizer_cls_and_kwargs = usual
        beside.join_optimizer(self.extras, optimizer, self.args.weight_decay)
        return optimizer

    def optimizer_choice(self) -> OptimizerChoice:
        """Return the class of the optimizer and its settings, which an anchor may change."""
        usual: OptimizerChoice = self.optimizer_cls_and_kwargs or self.get_optimizer_cls_and_kwargs(
            self.args, self.plain_model
        )
        if self.anchor is None:
            return usual
        return self.anchor.optimizer(usual, self.plain_model, self.reference)

    def _clip_grad_norm(self, model: nn.Module) -> Any:
        """Clip the model's gradients, and those of the extras by their own norm."""
        norm = super()._clip_grad_norm(model)  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(beside.trainable(self.extras), self.args.max_grad_norm)
        return norm

    # -- one step -----------------------------------------------------------------------------

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None
    ) -> Tensor:
        """Differentiate every loss the objective yields for this batch; return their sum."""
        self._rows = inputs.pop(ROWS, None)
        try:
            if recorder := self._find_recorder(model):
                total = self._play(recorder, self._prepare_inputs(inputs))
            else:
                total = self._every_pass(model, inputs)
        except HoldfastError as error:
            if problem := self._watch.problem():  # an earlier NaN is the cause
                raise self._failure(problem) from error
            raise
        if self.accelerator.sync_gradients:
            beside.average_gradients(self.extras, self.accelerator)
        self._look_at_losses()
        return total

    def _every_pass(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        # Each pass is one plain step of Trainer, in which `compute_loss` asks for the next loss.
        # Without a number of items it divides by the accumulated batches: losses are means.
        self._passes = passes = Passes(self.objective)
        last = self.objective.passes - 1
        try:
            totals = [self._one_pass(model, inputs, hold=i < last) for i in range(last + 1)]
        finally:
            self._passes = None
        passes.finish()
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
        passes = self._passes or Passes(self.objective)
        with self.accelerator.autocast():  # also what lives beside the model runs in bf16
            loss = passes.next(model, self.extras, inputs)
        total = loss.total + self._penalty() if passes.taken == 1 else loss.total
        self._parts.add(loss.parts)
        self._watch.add(self.state.global_step + 1, total, self._rows)
        return total

    def _penalty(self) -> Tensor | float:
        """Return the anchor's part of the loss, which goes with the first pass of a batch."""
        if self.anchor is None:
            return 0.0
        penalty = self.anchor.penalty(self.plain_model, self.reference)
        if penalty is None:
            return 0.0
        self._parts.add({"anchor": penalty})
        return penalty

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, adding to a line of the loss curve the averages of the objective's parts."""
        if "loss" in logs:
            logs.update(self._parts.drain(lambda t: self.accelerator.reduce(t, reduction="mean")))
        super().log(logs, start_time)

    # -- batches: what is in them beside the model's inputs ------------------------------------

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns
        columns += [name for name in EXTRA_COLUMNS if name not in columns]

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        """Draw equal numbers of each class where the objective wants it, and like lengths."""
        dataset = self.train_dataset if train_dataset is None else train_dataset
        if not (self.objective.class_conditional or self.by_length):
            return super()._get_train_sampler(train_dataset)
        balanced, alike = self.objective.class_conditional, self.by_length
        sampler = choose_sampler(dataset, self.args, balanced=balanced, by_length=alike)
        self.remove_callback(FollowEpochs)
        self.add_callback(FollowEpochs(sampler))
        return sampler

    def _prepare_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        prepared = super()._prepare_inputs(inputs)
        if self.objective.moves or self.check is not None:
            return mark_movable(prepared, self.processing_class)
        return prepared

    # -- checkpoints --------------------------------------------------------------------------

    def _save_beside(self, folder: Path) -> None:
        beside.save_extras(self.extras, folder)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        beside.load_extras(self.extras, Path(resume_from_checkpoint))

    def _load_best_model(self) -> None:
        super()._load_best_model()
        beside.load_extras(self.extras, Path(self.state.best_model_checkpoint or ""))
