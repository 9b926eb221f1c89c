"""The part of `RobustTrainer` that plays recorded steps on a GPU; see `holdfast.train.recorded`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from holdfast.anchors import Anchor
from holdfast.objectives import Objective, Standard
from holdfast.train import extras as beside
from holdfast.train.averages import PartAverages
from holdfast.train.cast_once import cast_once
from holdfast.train.finite import LossWatch
from holdfast.train.guarded import GuardedTrainer
from holdfast.train.recorded import (
    NO_GPU,
    Inputs,
    Recorder,
    Step,
    casting_anew,
    obstacle,
)

_log = logging.getLogger(__name__)


class RecordingTrainer(GuardedTrainer):
    """Takes the steps of a subclass, which says what one does, as recordings where it can."""

    recorded = False
    """Whether recordings are wanted; they are given up where something stands in their way."""
    objective: Objective
    anchor: Anchor | None
    extras: nn.Module
    _parts: PartAverages
    _rows: Tensor | None
    _recorder: Recorder | None = None  # of the training under way

    def _every_pass(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Differentiate every loss of a batch and return their sum."""
        raise NotImplementedError

    @contextmanager
    def _around_training(self) -> Iterator[None]:
        try:
            with casting_anew(self.recorded):
                yield
        finally:
            self._recorder = None  # it knows the weights of one training

    def _find_recorder(self, model: nn.Module) -> Recorder | None:
        """Return what takes recorded steps; none: nothing is recorded in this run."""
        if not self.recorded or self._recorder is not None:
            return self._recorder
        steps = self.args.gradient_accumulation_steps
        if reason := obstacle(self.plain_model, self.accelerator.num_processes, steps):
            _log.log(
                logging.DEBUG if reason == NO_GPU else logging.INFO,
                "Steps are not recorded: %s.",
                reason,
            )
            self.recorded = False
            return None
        trained = [p for p in self.plain_model.parameters() if p.requires_grad]
        self._recorder = Recorder(
            lambda inputs: self._noted_step(model, inputs),
            [*trained, *beside.trainable(self.extras)],
        )
        return self._recorder

    @property
    def _half(self) -> torch.dtype | None:
        """What weights are cast to once in a step; none where others may want them as they are.

        An anchor does, and so may any objective but the plainest: an adversary lowers the whole
        model for its ascent (`holdfast.adversary.lowered`).
        """
        alone = isinstance(self.objective, Standard) and self.anchor is None
        return torch.bfloat16 if self.args.bf16 and alone else None

    def _noted_step(self, model: nn.Module, inputs: Inputs) -> Step:
        """Take a step and return what it tells, which is otherwise noted as it goes."""
        parts, watch = self._parts, self._watch
        self._parts, self._watch = PartAverages(), LossWatch()
        try:
            with cast_once(self.plain_model, self._half):
                self._every_pass(model, dict(inputs))
            return Step(self._watch.losses, self._parts.values)
        finally:
            self._parts, self._watch = parts, watch

    def _play(self, recorder: Recorder, inputs: Inputs) -> Tensor:
        step = recorder(inputs)
        self._parts.extend(step.parts)
        for loss in step.losses:
            self._watch.add(self.state.global_step + 1, loss, self._rows)
        return torch.stack(step.losses).sum()
