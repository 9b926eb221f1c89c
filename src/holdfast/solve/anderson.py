"""Anderson acceleration: the next point from the best affine mix of the points seen so far.

With residuals f_j = g(x_j) - x_j of the remembered points (Walker & Ni, 2011, Eq. 1.1):

    alpha = argmin | sum_j alpha_j f_j |   subject to   sum_j alpha_j = 1
    x_next = sum_j alpha_j (x_j + damping f_j)

A transformer layer is no contraction, so the memory lets go of its *worst* point rather than its
oldest: the best is never lost.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from holdfast.solve.iterate import iterate
from holdfast.solve.solution import Map, Pair, Solution, at_least_float32

Mixing = Literal["example", "token"]
_TINY = 1e-24
"""Of a squared size: keeps a residual of exactly zero, such as padding's, from dividing by it."""


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
            memory.remember(known[1], known[1] - known[0])
        return iterate(g, start, memory, self.tolerance, self.max_steps)


class _Memory:
    """The remembered residuals and images, each (batch, groups, memory, features).

    Sums of products are written out rather than as matrix products: those may run in TF32 or
    under autocast, and the weights below are made of small differences.
    """

    def __init__(self, settings: Anderson, start: Tensor) -> None:
        self.settings = settings
        batch, groups, features = self._grouped(start).shape
        self.residuals = start.new_zeros(batch, groups, settings.memory, features)
        self.images = torch.zeros_like(self.residuals)
        self.gram = at_least_float32(
            start.new_zeros(batch, groups, settings.memory, settings.memory)
        )
        self.ridge = settings.ridge * torch.eye(
            settings.memory, dtype=self.gram.dtype, device=start.device
        )
        self.filled = 0

    def _grouped(self, x: Tensor) -> Tensor:
        """Return `x` as (batch, groups, features): what is mixed with one set of weights."""
        if self.settings.mixing == "example":
            return x.reshape(x.shape[0], 1, -1)
        return x.reshape(x.shape[0], -1, x.shape[-1])

    def remember(self, image: Tensor, residual: Tensor) -> None:
        """Store a pair in an empty slot, or over the worst one of each group."""
        image, residual = self._grouped(image), self._grouped(residual)
        if torch.is_grad_enabled():  # autograd saved the old buffers: leave those untouched
            self.residuals, self.images = self.residuals.clone(), self.images.clone()
            self.gram = self.gram.clone()
        if self.filled < self.settings.memory:
            self._store(self.filled, residual, image)
            self.filled += 1
        else:
            self._store_over_worst(residual, image)

    def _store(self, slot: int, residual: Tensor, image: Tensor) -> None:
        self.residuals[:, :, slot] = residual
        self.images[:, :, slot] = image
        products = self._products(residual)
        self.gram[:, :, slot] = products
        self.gram[:, :, :, slot] = products

    def _products(self, residual: Tensor) -> Tensor:
        return (self.residuals * residual.unsqueeze(2)).sum(dim=3, dtype=self.gram.dtype)

    def _store_over_worst(self, residual: Tensor, image: Tensor) -> None:
        worst = self.gram.detach().diagonal(dim1=2, dim2=3).argmax(dim=2)[..., None, None]
        rows = worst.expand_as(residual.unsqueeze(2))
        self.residuals.scatter_(2, rows, residual.unsqueeze(2))
        self.images.scatter_(2, rows, image.unsqueeze(2))
        products = self._products(residual)
        self.gram.scatter_(2, worst.expand_as(products.unsqueeze(2)), products.unsqueeze(2))
        self.gram.scatter_(3, worst.expand_as(products.unsqueeze(3)), products.unsqueeze(3))

    def narrow(self, rows: Tensor) -> None:
        """Forget every example but `rows`."""
        self.residuals, self.images = self.residuals[rows], self.images[rows]
        self.gram = self.gram[rows]

    def __call__(self, image: Tensor, residual: Tensor) -> Tensor:
        """Return the mix of what is remembered, this pair included."""
        self.remember(image, residual)
        alpha = self._weights().unsqueeze(3).to(image.dtype)
        mixed = (alpha * self.images[:, :, : self.filled]).sum(dim=2)
        if self.settings.damping != 1.0:
            left = (alpha * self.residuals[:, :, : self.filled]).sum(dim=2)
            mixed = mixed - (1.0 - self.settings.damping) * left
        return mixed.reshape(image.shape)

    def _weights(self) -> Tensor:
        """Solve the constrained least squares through its Gram matrix: alpha ~ Gram^-1 1.

        Residuals are scaled to unit length first, so that a far point cannot drown a near one.
        """
        gram = self.gram[:, :, : self.filled, : self.filled]
        scale = gram.diagonal(dim1=2, dim2=3).clamp_min(_TINY).rsqrt()
        unit = gram * scale.unsqueeze(3) * scale.unsqueeze(2)
        ridge = self.ridge[: self.filled, : self.filled]
        # solve_ex does not wait for the device to report a singular matrix; the ridge rules it out
        weights: Tensor = scale * torch.linalg.solve_ex(unit + ridge, scale.unsqueeze(3))[
            0
        ].squeeze(3)
        return weights / weights.sum(dim=2, keepdim=True)
