"""A model whose matrices are rounded to bfloat16 once; autocast alone does so for every batch.

Nothing else changes: autocast rounds them the same way, and leaves alone what it finds rounded. Of
the kernels that a small model starts on a GPU, a third go into it.
"""

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

Versions = tuple[tuple[int, int], ...]


class RoundedMatrices:
    """Copies of a model's matrices, made anew when the model has learnt or was moved."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._matrices = _matrices(model)
        self._copied: Versions | None = None
        self._copies: dict[str, Tensor] = {}

    @property
    def versions(self) -> Versions:
        """Which numbers the matrices hold now, as far as they can be told apart in passing."""
        found = self._matrices.values()
        return tuple((matrix.data_ptr(), matrix._version) for matrix in found)

    def __call__(self, inputs: dict[str, Tensor]) -> Any:
        """Run the model on its copies."""
        if (now := self.versions) != self._copied:
            found = self._matrices.items()
            self._copies = {name: matrix.detach().bfloat16() for name, matrix in found}
            self._copied = now
        return functional_call(self._model, self._copies, kwargs=inputs, tie_weights=False)


def _matrices(model: torch.nn.Module) -> dict[str, Tensor]:
    """Return what is used in matrix products only: other layers' numbers are not rounded."""
    return {
        f"{name}.{part}": parameter
        for name, module in model.named_modules()
        if type(module) is torch.nn.Linear
        for part, parameter in module.named_parameters(recurse=False)
    }
