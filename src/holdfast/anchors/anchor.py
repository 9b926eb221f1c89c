"""What an anchor is: it may change the forward pass, the loss or the optimizer, nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.anchors.reference import Reference

OptimizerChoice = tuple[type[torch.optim.Optimizer], dict[str, Any]]
"""A class of optimizers and its settings, as `transformers.Trainer` chooses and takes them."""


@dataclass(eq=False)
class Attached:
    """What `attach` has put on a model."""

    undo: list[Callable[[], None]] = field(default_factory=list)

    def remove(self) -> None:
        """Leave the model as if nothing had been attached; safe to repeat."""
        while self.undo:
            self.undo.pop()()


class AnchorLike(Protocol):
    """A way to stay near the pre-trained model: a frozen dataclass of its settings.

    A trainer makes the three calls below for every anchor, always with the model itself, never
    with what distributed training wraps around it. Each anchor answers most of them with nothing.
    """

    def attach(self, model: PreTrainedModel, reference: Reference) -> Attached:
        """Change the forward pass in training mode; called once, before training.

        The parameters, their names and what is saved stay as they were.
        """
        ...

    def penalty(self, model: PreTrainedModel, reference: Reference) -> Tensor | None:
        """Return what is added to the loss, once a batch, differentiable; None for nothing."""
        ...

    def optimizer(
        self, usual: OptimizerChoice, model: PreTrainedModel, reference: Reference
    ) -> OptimizerChoice:
        """Return the optimizer to build in place of the `usual` one; called before training."""
        ...
