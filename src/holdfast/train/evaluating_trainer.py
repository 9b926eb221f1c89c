"""The part of `RobustTrainer` that evaluates, and measures more than Trainer does."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers.trainer_utils import EvalLoopOutput

from holdfast.adversary.batch import LABELS, inputs_of
from holdfast.anchors import Reference
from holdfast.implicit import unread
from holdfast.train.distance import relative_distance
from holdfast.train.recording_trainer import RecordingTrainer
from holdfast.train.robustness import LOOKED_AT, HullCheck, drawn_batches, mean_parts


class EvaluatingTrainer(RecordingTrainer):
    """Adds to every evaluation what a subclass was asked for."""

    check: HullCheck | None
    track_distance: bool
    reference: Reference
    _labelled = False  # whether the batches under evaluation say what is right

    def prediction_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Evaluate one batch of the model's inputs and labels only."""
        self._labelled = LABELS in inputs
        seen = inputs_of(inputs) | {name: inputs[name] for name in (LABELS,) if name in inputs}
        return super().prediction_step(model, seen, prediction_loss_only, ignore_keys)

    def evaluation_loop(
        self,
        dataloader: DataLoader[Any],
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> EvalLoopOutput:
        """Evaluate, and add what the model keeps of its accuracy and of its pre-trained weights."""
        self._labelled = False
        output: EvalLoopOutput = super().evaluation_loop(
            dataloader, description, prediction_loss_only, ignore_keys, metric_key_prefix
        )
        if output.metrics is not None:
            # Trainer keeps the labels only where it computes metrics of them: its output tells not
            found = self._robustness(dataloader) if self._labelled else {}
            if self.track_distance:
                found["distance"] = relative_distance(self.plain_model, self.reference)
            output.metrics.update({f"{metric_key_prefix}_{name}": found[name] for name in found})
        return output

    def _robustness(self, dataloader: DataLoader[Any]) -> dict[str, float]:
        def batches(wanted: int | None, readings: int = 1) -> Iterator[dict[str, Any]]:
            size = self.args.eval_batch_size
            drawn = drawn_batches(dataloader, size, accelerator, wanted, readings)
            return (self._prepare_inputs(batch) for batch in drawn)

        found: dict[str, float] = {}
        model, accelerator, check = self.plain_model, self.accelerator, self.check
        with accelerator.autocast(), unread(model):
            if check is not None:
                attacked = batches(check.examples, check.readings)
                found["hull_accuracy"] = check.accuracy(model, attacked, accelerator)
            if self.objective.substitutes or self.objective.class_conditional:
                seen = batches(LOOKED_AT)
                found |= mean_parts(self.objective, model, self.extras, seen, accelerator)
        return found

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        """Return batches of every example, also where incomplete ones are left out of training."""
        drop, self.args.dataloader_drop_last = self.args.dataloader_drop_last, False
        try:
            return super().get_eval_dataloader(eval_dataset)
        finally:
            self.args.dataloader_drop_last = drop
