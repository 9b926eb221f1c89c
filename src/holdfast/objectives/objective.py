"""What a training objective is: it yields losses, the trainer owns everything else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor, nn

from holdfast.adversary.batch import Batch


@dataclass(frozen=True)
class Loss:
    """One scalar to differentiate, and the named numbers worth seeing in the loss curve."""

    total: Tensor
    """Mean over the examples of the batch; the trainer calls backward on it."""
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    """Scalars to log, averaged between two lines of the loss curve; never differentiated."""


class Objective(Protocol):
    """A loss to train with: a frozen dataclass of its settings.

    An objective never calls backward, moves tensors to a device or touches the optimizer. The
    gradients of all it yields in one step are summed: one that wants their mean divides.
    """

    @property
    def passes(self) -> int:
        """How many losses `losses` yields for a batch; only the last synchronises under DDP."""
        ...

    @property
    def moves(self) -> bool:
        """Whether it perturbs token vectors, and so must know which tokens are special."""
        ...

    @property
    def substitutes(self) -> bool:
        """Whether it needs substitutes for the words, and so a lexicon."""
        ...

    @property
    def class_conditional(self) -> bool:
        """Whether it wants batches with equal numbers of each class."""
        ...

    def extras(self, model: nn.Module) -> nn.Module:
        """Return what lives beside the model: heads, frozen copies; an empty module for none.

        Its trainable parameters join the optimizer; all of it is saved and resumed. The trainer
        never switches it between train and eval mode.
        """
        ...

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield `passes` losses; each has been differentiated before the next is asked for.

        `batch` holds the inputs of the model's forward, `labels`, and what an adversary may change
        (see `holdfast.adversary.batch`); `model` may be wrapped (DDP).
        """
        ...
