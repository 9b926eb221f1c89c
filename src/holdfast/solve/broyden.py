"""Limited-memory Broyden: a quasi-Newton method on F(x) = g(x) - x (Broyden's good method).

The inverse Jacobian is kept as -I plus rank-one terms, one an evaluation:

    B = -I + sum_j u_j v_j^T,    x_next = x - B F(x)

and updated by Sherman-Morrison so that B (F_new - F_old) = x_new - x_old.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from holdfast.solve.iterate import iterate
from holdfast.solve.settings import require_at_least
from holdfast.solve.solution import Map, Pair, Solution

_SMALLEST_DENOMINATOR = 1e-8


@dataclass(frozen=True)
class Broyden:
    """Solve x = g(x) with one evaluation a step; restarts when its memory is full."""

    max_steps: int = 12
    tolerance: float = 1e-2
    memory: int = 8
    """Rank-one terms kept before starting afresh."""

    def __post_init__(self) -> None:
        """Refuse settings that make no solve."""
        require_at_least(1, self, "max_steps", "memory")
        require_at_least(0, self, "tolerance")

    def __call__(self, g: Map, start: Tensor, known: Pair | None = None) -> Solution:
        """Solve from `start`; `known` is a pair of g that cost nothing, and is used."""
        inverse = _InverseJacobian(self.memory)
        if known is not None:
            inverse.remember(known[0].flatten(1), (known[1] - known[0]).flatten(1))
        return iterate(g, start, inverse, self.tolerance, self.max_steps)


class _InverseJacobian:
    """B of one solve; every vector is (batch, features)."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.terms: list[tuple[Tensor, Tensor]] = []
        self.last: tuple[Tensor, Tensor] | None = None

    def __call__(self, image: Tensor, residual: Tensor) -> Tensor:
        x, value = (image - residual).flatten(1), residual.flatten(1)
        self._learn(x, value)
        self.last = (x, value)
        return (x - self._apply(value)).view_as(image)

    def remember(self, x: Tensor, value: Tensor) -> None:
        self.last = (x, value)

    def narrow(self, rows: Tensor) -> None:
        self.terms = [(u[rows], v[rows]) for u, v in self.terms]
        if self.last is not None:
            self.last = (self.last[0][rows], self.last[1][rows])

    def _apply(self, vector: Tensor) -> Tensor:
        """Return B vector."""
        result = -vector
        for u, v in self.terms:
            result = result + u * (v * vector).sum(1, keepdim=True)
        return result

    def _apply_transposed(self, vector: Tensor) -> Tensor:
        """Return B^T vector."""
        result = -vector
        for u, v in self.terms:
            result = result + v * (u * vector).sum(1, keepdim=True)
        return result

    def _learn(self, x: Tensor, value: Tensor) -> None:
        if self.last is None:
            return
        if len(self.terms) == self.memory:
            self.terms = []
        moved, changed = x - self.last[0], value - self.last[1]
        direction = self._apply_transposed(moved)
        scale = (direction * changed).sum(1, keepdim=True)
        # a vanishing denominator would throw the example to infinity: it learns nothing instead
        safe = scale.abs() > _SMALLEST_DENOMINATOR * moved.square().sum(1, keepdim=True)
        # the branch not taken is differentiated as well, so it must not divide by zero either
        u = torch.where(safe, (moved - self._apply(changed)) / torch.where(safe, scale, 1.0), 0.0)
        self.terms.append((u, direction))
