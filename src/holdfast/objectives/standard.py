"""Plain fine-tuning: cross-entropy on the labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import nn
from torch.nn import functional

from holdfast.adversary import Batch, inputs_of
from holdfast.objectives.objective import Loss


@dataclass(frozen=True)
class Standard:
    """Cross-entropy between logits and labels, averaged over the batch."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = False
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        logits = model(**inputs_of(batch)).logits
        yield Loss(functional.cross_entropy(logits.float(), batch["labels"]))
