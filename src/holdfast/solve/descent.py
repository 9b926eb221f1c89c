"""Gradient descent on the residual: the inner loop of IM-BERT's Algorithm 1.

    loss_i  = | x_i - g(x_i) |
    x_{i+1} = x_i - step_size * d loss_i / d x_i,    i = 0 .. steps - 1

The paper prints a subscript 2 on the norm and no reduction, so three readings are offered; see
`Descent.norm`. With the squared sum and the paper's step size of 0.1 the iteration is far beyond
its stability limit on real layers, and its result depends on float noise: it is kept because it
is what was printed, not because it solves the equation.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from holdfast.errors import InputError
from holdfast.solve.at_hand import kept_at_hand
from holdfast.solve.recording import is_recording
from holdfast.solve.settings import require_at_least, require_one_of, require_positive
from holdfast.solve.solution import Map, Pair, Solution, at_least_float32, relative_residual

Norm = Literal["squared_sum", "l2_example", "l2_token"]
_TINY = 1e-12
"""Under the root: a residual of exactly zero has no derivative of its norm."""


@dataclass(frozen=True)
class Descent:
    """Take a fixed number of gradient steps; each costs g and a vector-Jacobian product."""

    steps: int = 5
    step_size: float = 0.1
    norm: Norm = "l2_example"
    """`squared_sum` over everything, or the sum of unsquared norms per example or token."""
    tolerance: float = 1e-2
    """Only judges the result; the number of steps is fixed."""
    measure: bool = True
    """Spend one more evaluation on the residual of the point returned; without it the residual
    told is that of the point before the last step. While it is recorded for a GPU, where nobody
    can look, it is that of the start."""

    def __post_init__(self) -> None:
        """Refuse settings that make no descent."""
        require_at_least(0, self, "steps")
        require_at_least(0, self, "tolerance")
        require_positive(self, "step_size")
        require_one_of(get_args(Norm), self, "norm")

    def __call__(self, g: Map, start: Tensor, known: Pair | None = None) -> Solution:
        """Descend from `start`; a known pair is of no use to this method."""
        if torch.is_inference_mode_enabled() or start.is_inference():
            raise InputError(
                "Descent needs gradients, which torch.inference_mode() rules out; "
                "use torch.no_grad() instead, or a solver such as Anderson."
            )
        second_order = torch.is_grad_enabled()
        # a tensor of its own: the inner derivative is by g's argument, even if g knows the start
        point = start.view_as(start).requires_grad_() if second_order else start.detach()
        residuals: list[Tensor] = []
        blind = is_recording()  # nobody looks at a residual then, and the first stands for all
        for _ in range(self.steps):
            before = point
            point, image = self._step(g, point, second_order)
            if not (blind and residuals):
                residuals.append(relative_residual(before.detach(), image))
        measured = (self.measure and not blind) or not residuals
        if measured:
            with torch.no_grad():
                residuals.append(relative_residual(point, g(point)))
        return Solution(
            value=point,
            residual=residuals[-1],
            start_residual=residuals[0],
            evaluations=self.steps + measured,
            products=self.steps,
            converged=residuals[-1] <= self.tolerance,
        )

    def _step(self, g: Map, point: Tensor, second_order: bool) -> tuple[Tensor, Tensor]:
        with torch.enable_grad(), nullcontext() if second_order else kept_at_hand():
            if not second_order:
                point = point.detach().requires_grad_()
            image = g(point)
            with torch.set_grad_enabled(second_order):
                slope = self._slope(at_least_float32(point) - at_least_float32(image))
            pulled = _pulled(image, point, slope.to(image.dtype), second_order)
        with torch.set_grad_enabled(second_order):
            gradient = (slope - pulled).to(point.dtype)
            moved = torch.add(point, gradient, alpha=-self.step_size)
        return moved, image.detach()

    def _slope(self, residual: Tensor) -> Tensor:
        """Return d loss / d residual; by the chain rule d loss / d x = slope - slope . dg/dx."""
        if self.norm == "squared_sum":
            return 2.0 * residual
        squares = residual.square()
        sums = squares.sum(-1) if self.norm == "l2_token" else squares.flatten(1).sum(1)
        norms = (sums + _TINY).sqrt()
        return residual / norms.reshape(norms.shape + (1,) * (residual.ndim - norms.ndim))


def _pulled(image: Tensor, point: Tensor, slope: Tensor, second_order: bool) -> Tensor:
    """Return slope . d image / d point; zero where the image does not depend on the point."""
    if not image.requires_grad:
        return torch.zeros_like(point)
    (found,) = torch.autograd.grad(
        image, point, slope, create_graph=second_order, materialize_grads=True
    )
    return found
