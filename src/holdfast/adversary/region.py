"""Where an adversary may go: a region of token vectors around those of a batch."""

from typing import Protocol

from torch import Tensor

from holdfast.adversary.batch import Batch


class Region(Protocol):
    """A set of perturbations, a frozen dataclass of its settings.

    `state` is whatever tensor the region needs, its optimiser's memory included; only the region
    reads it. `embeds` are the vectors of the batch, (batch, tokens, width).
    """

    def start(self, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the state the ascent begins at."""
        ...

    def embed(self, state: Tensor, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the perturbed vectors, differentiable in `state` and in `embeds`."""
        ...

    def step(self, state: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Return the state one step up the gradient, inside the region again."""
        ...
