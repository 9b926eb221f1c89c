"""Anderson acceleration: the next point from the best affine mix of the points seen so far.

With residuals f_j = g(x_j) - x_j of the remembered points (Walker & Ni, 2011, Eq. 1.1):

    alpha = argmin | sum_j alpha_j f_j |   subject to   sum_j alpha_j = 1
    x_next = sum_j alpha_j (x_j + damping f_j)

The loop in `iterate` safeguards it: a transformer layer is no contraction, and a step that made
things worse is followed by one half-way back to the best point.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from holdfast.solve.iterate import iterate
from holdfast.solve.settings import require_at_least, require_one_of, require_positive
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

    def __post_init__(self) -> None:
        """Refuse settings that make no solve."""
        require_at_least(1, self, "max_steps", "memory")
        require_at_least(0, self, "tolerance", "ridge")
        require_positive(self, "damping")
        require_one_of(get_args(Mixing), self, "mixing")

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
        size = settings.memory
        # never read before it is written, so it need not be filled
        self.residuals = start.new_empty(batch, groups, size, features)
        self.images = torch.empty_like(self.residuals)
        self.gram = at_least_float32(start.new_empty(batch, groups, size, size))
        self.ridge = settings.ridge * torch.eye(size, dtype=self.gram.dtype, device=start.device)
        self.stored = 0

    @property
    def filled(self) -> int:
        """Slots in use; the newest pair takes the place of the oldest once all are."""
        return min(self.stored, self.settings.memory)

    def _grouped(self, x: Tensor) -> Tensor:
        """Return `x` as (batch, groups, features): what is mixed with one set of weights."""
        if self.settings.mixing == "example":
            return x.reshape(x.shape[0], 1, -1)
        return x.reshape(x.shape[0], -1, x.shape[-1])

    def remember(self, image: Tensor, residual: Tensor) -> None:
        """Store a pair, over the oldest one if need be."""
        image, residual = self._grouped(image), self._grouped(residual)
        if torch.is_grad_enabled():  # autograd saved the old buffers: leave those untouched
            self.residuals, self.images = self.residuals.clone(), self.images.clone()
            self.gram = self.gram.clone()
        slot = self.stored % self.settings.memory
        self.stored += 1
        self.residuals[:, :, slot] = residual
        self.images[:, :, slot] = image
        others = self.residuals[:, :, : self.filled]
        products = (others * residual.unsqueeze(2)).sum(dim=3, dtype=self.gram.dtype)
        self.gram[:, :, slot, : self.filled] = products
        self.gram[:, :, : self.filled, slot] = products

    def narrow(self, rows: Tensor) -> None:
        """Forget every example but `rows`."""
        self.residuals, self.images = self.residuals[rows], self.images[rows]
        self.gram = self.gram[rows]

    def __call__(self, image: Tensor, residual: Tensor) -> Tensor:
        """Return the mix of what is remembered, this pair included."""
        self.remember(image, residual)
        alpha = self._weights().to(image.dtype)
        mixed = (alpha * self.images[:, :, : self.filled]).sum(dim=2)
        if self.settings.damping != 1.0:
            left = (alpha * self.residuals[:, :, : self.filled]).sum(dim=2)
            mixed = mixed - (1.0 - self.settings.damping) * left
        return mixed.reshape(image.shape)

    def _weights(self) -> Tensor:
        """Solve the constrained least squares through its Gram matrix: alpha ~ Gram^-1 1.

        Each row is divided by its residual's squared size first, so that a far point cannot drown a
        near one. The steps are few on purpose: on a small model each one's launch shows.
        """
        gram = self.gram[:, :, : self.filled, : self.filled]
        inverse = gram.diagonal(dim1=2, dim2=3).clamp_min(_TINY).reciprocal().unsqueeze(3)
        ridge = self.ridge[: self.filled, : self.filled]
        system = torch.addcmul(ridge, gram, inverse)
        # solve_ex does not wait for the device to report a singular matrix; the ridge rules it out
        weights: Tensor = torch.linalg.solve_ex(system, inverse)[0]
        return weights / weights.sum(dim=2, keepdim=True)
