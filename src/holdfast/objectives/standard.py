"""Plain fine-tuning: cross-entropy on the labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import nn
from torch.nn import functional

from holdfast.objectives.objective import Batch, Loss, inputs_of


@dataclass(frozen=True)
class Standard:
    """Cross-entropy between logits and labels, averaged over the batch."""

    passes: ClassVar[int] = 1

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        logits = model(**inputs_of(batch)).logits
        yield Loss(functional.cross_entropy(logits.float(), batch["labels"]))
