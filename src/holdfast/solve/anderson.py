"""Anderson acceleration: the next point from the best affine mix of the points seen so far.

With residuals f_j = g(x_j) - x_j of the remembered points (Walker & Ni, 2011, Eq. 1.1):

    alpha = argmin | sum_j alpha_j f_j |   subject to   sum_j alpha_j = 1
    x_next = sum_j alpha_j (x_j + damping f_j)

Two safeguards, because a transformer layer is no contraction: the memory lets go of its *worst*
point, so that the best is never lost, and an example whose residual rose takes a shorter step.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from holdfast.solve.iterate import iterate
from holdfast.solve.solution import Map, Pair, Solution

Mixing = Literal["example", "token"]
_DAMPING_AFTER_RISE = 0.5


@dataclass(frozen=True)
class Anderson:
    """Solve x = g(x) with one evaluation of g a step and no derivatives."""

    max_steps: int = 8
    tolerance: float = 1e-2
    memory: int = 4
    """Points remembered, the newest included."""
    mixing: Mixing = "example"
    """One set of weights an example, or one for each token of it."""
    damping: float = 1.0
    ridge: float = 1e-6
    """Regularisation of the small least-squares problem, relative to its diagonal."""

    def __call__(self, g: Map, start: Tensor, known: Pair | None = None) -> Solution:
        """Solve from `start`; `known` is a pair of g that cost nothing, and is remembered."""
        memory = _Memory(self, start)
        if known is not None:
            memory.remember(*known)
        return iterate(g, start, memory, self.tolerance, self.max_steps)


class _Memory:
    """The remembered residuals and images, each (batch, groups, memory, features)."""

    def __init__(self, settings: Anderson, start: Tensor) -> None:
        self.settings = settings
        shape = self._grouped(start).shape
        self.residuals = start.new_zeros(*shape[:2], settings.memory, shape[2])
        self.images = torch.zeros_like(self.residuals)
        self.filled = 0

    def _grouped(self, x: Tensor) -> Tensor:
        """Return `x` as (batch, groups, features): what is mixed with one set of weights."""
        if self.settings.mixing == "example":
            return x.reshape(x.shape[0], 1, -1)
        return x.reshape(x.shape[0], -1, x.shape[-1])

    def remember(self, point: Tensor, image: Tensor) -> None:
        """Store a pair in an empty slot, or over the worst one of each group."""
        new_image = self._grouped(image)
        new_residual = new_image - self._grouped(point)
        if torch.is_grad_enabled():  # autograd saved the old buffers: leave those untouched
            self.residuals, self.images = self.residuals.clone(), self.images.clone()
        slot = self._slot()
        self.residuals.scatter_(2, slot.expand_as(new_residual.unsqueeze(2)), new_residual.unsqueeze(2))
        self.images.scatter_(2, slot.expand_as(new_image.unsqueeze(2)), new_image.unsqueeze(2))

    def _slot(self) -> Tensor:
        batch, groups, memory, _ = self.residuals.shape
        if self.filled < memory:
            self.filled += 1
            return torch.full((batch, groups, 1, 1), self.filled - 1, device=self.residuals.device)
        sizes = self.residuals.detach().square().sum(dim=3, keepdim=True)
        return sizes.argmax(dim=2, keepdim=True)

    def narrow(self, rows: Tensor) -> None:
        self.residuals, self.images = self.residuals[rows], self.images[rows]

    def __call__(self, point: Tensor, image: Tensor, rose: Tensor) -> Tensor:
        self.remember(point, image)
        residuals = self.residuals[:, :, : self.filled]
        alpha = self._weights(residuals)
        mixed = (alpha @ self.images[:, :, : self.filled]).squeeze(2)
        held_back = 1.0 - self._damping(rose)
        mixed = mixed - held_back * (alpha @ residuals).squeeze(2)
        return mixed.reshape(point.shape)

    def _damping(self, rose: Tensor) -> Tensor:
        full = self.settings.damping
        return torch.where(rose, full * _DAMPING_AFTER_RISE, full).view(-1, 1, 1)

    def _weights(self, residuals: Tensor) -> Tensor:
        """Solve the constrained least squares through its Gram matrix: alpha ~ Gram^-1 1.

        Rows are scaled to unit length first, so that a far point cannot drown a near one.
        """
        sizes = residuals.norm(dim=3).clamp_min(1e-12)
        unit = residuals @ residuals.transpose(2, 3) / (sizes.unsqueeze(3) * sizes.unsqueeze(2))
        gram = unit + self.settings.ridge * torch.eye(self.filled, device=unit.device)
        # solve_ex does not wait for the device to report a singular matrix; the ridge rules it out
        scaled = torch.linalg.solve_ex(gram, (1.0 / sizes).unsqueeze(3))[0].squeeze(3) / sizes
        return (scaled / scaled.sum(dim=2, keepdim=True)).unsqueeze(2)
