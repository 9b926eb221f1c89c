"""How the solution of x = g(x) is differentiated: a choice apart from how it is found.

Each gradient returns the solver's own point; only what autograd sees behind it differs. So a
model gives the same output in training and in use, whatever gradient it was trained with.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from holdfast.errors import RunFailed
from holdfast.solve.anderson import Anderson
from holdfast.solve.at_hand import kept_at_hand
from holdfast.solve.broyden import Broyden
from holdfast.solve.descent import Descent
from holdfast.solve.fixed_point import FixedPoint
from holdfast.solve.recording import is_recording, knowing
from holdfast.solve.settings import require_at_least, require_one_of, require_positive
from holdfast.solve.solution import Map, Pair, Solution

Solver = FixedPoint | Anderson | Broyden | Descent
OnFailure = Literal["keep", "warn", "raise"]


def _solve_apart(
    solver: Solver, g: Map, start: Tensor, known: Pair | None, behind: Map
) -> Solution:
    """Solve without letting autograd see it; what it sees instead is `behind(solution)`.

    The value is the solver's own, the derivative that of `behind`.
    """
    if known is not None:
        known = (known[0].detach(), known[1].detach())
    with torch.no_grad():
        solution = solver(g, start.detach(), known)
    if not torch.is_grad_enabled():
        return solution
    path = behind(solution.value)
    return replace(solution, value=solution.value + (path - path.detach()))


@dataclass(frozen=True)
class Unrolled:
    """Differentiate through every step of the solver: exact for what was computed, and costly."""

    def __call__(
        self, solver: Solver, g: Map, start: Tensor, known: Pair | None = None
    ) -> Solution:
        """Solve in full view of autograd."""
        return solver(g, start, known)


@dataclass(frozen=True)
class Detached:
    """Differentiate along the path to the start only, as if the solver had not moved it.

    For IM-BERT this is EX-BERT's backward pass, the reading its Section 3.4 suggests.
    """

    def __call__(
        self, solver: Solver, g: Map, start: Tensor, known: Pair | None = None
    ) -> Solution:
        """Solve apart; the derivative is that of `start`."""
        return _solve_apart(solver, g, start, known, lambda _: start)


@dataclass(frozen=True)
class Phantom:
    """Differentiate a few damped steps taken at the solution (Geng et al., NeurIPS 2021):

        x <- (1 - damping) x + damping g(x),    `steps` times

    a truncated Neumann series of the true derivative, whose memory does not grow with the solve.
    """

    steps: int = 1
    damping: float = 1.0

    def __post_init__(self) -> None:
        """Refuse settings without which nothing is left to differentiate."""
        require_at_least(1, self, "steps")
        require_positive(self, "damping")

    def __call__(
        self, solver: Solver, g: Map, start: Tensor, known: Pair | None = None
    ) -> Solution:
        """Solve apart; the derivative is that of the steps."""

        def steps(point: Tensor) -> Tensor:
            for _ in range(self.steps):
                point = torch.lerp(point, g(point), self.damping)
            return point

        return _solve_apart(solver, g, start, known, steps)


@dataclass(frozen=True)
class ImplicitFunction:
    """Differentiate the equation itself: with v the incoming gradient, solve u = v + J^T u.

    `backward_solver` solves that linear equation with vector-Jacobian products; any solver that
    needs no derivatives will do. One evaluation's activations are held for them, under gradient
    checkpointing too.
    """

    backward_solver: FixedPoint | Anderson | Broyden = field(
        default_factory=lambda: Anderson(max_steps=12, tolerance=1e-3, memory=6)
    )
    on_failure: OnFailure = "warn"
    """What to do when the backward solve does not reach its tolerance, so that the gradient is not
    that of the equation."""

    def __post_init__(self) -> None:
        """Refuse a way of dealing with failures that there is not."""
        require_one_of(get_args(OnFailure), self, "on_failure")

    def __call__(
        self, solver: Solver, g: Map, start: Tensor, known: Pair | None = None
    ) -> Solution:
        """Solve apart; the derivative comes from the implicit function theorem."""
        return _solve_apart(solver, g, start, known, lambda point: self._equation(g, point))

    def _equation(self, g: Map, point: Tensor) -> Tensor:
        """Return g(point), whose derivative solves the adjoint equation when it is asked for."""
        point = point.detach().requires_grad_()
        with kept_at_hand():
            image = g(point)
        # a new tensor carries the hook, so that the products below do not call it again
        seen = image.view_as(image)
        adjoint = knowing(self._adjoint)
        seen.register_hook(  # type: ignore[no-untyped-call]
            lambda v: adjoint(image, point, v)
        )
        return seen

    def _adjoint(self, image: Tensor, point: Tensor, v: Tensor) -> Tensor:
        if torch.is_grad_enabled():  # only then is a backward pass to be differentiated itself
            raise RunFailed(
                "A second derivative was asked for, and ImplicitFunction has only the first; "
                "differentiate twice with Unrolled."
            )

        def transposed(u: Tensor) -> Tensor:
            with torch.enable_grad():
                (product,) = torch.autograd.grad(
                    image, point, u, retain_graph=True, materialize_grads=True
                )
            return v + product

        with torch.no_grad():
            solution = self.backward_solver(transposed, v)
        self._look_at(solution)
        return solution.value

    def _look_at(self, solution: Solution) -> None:
        if self.on_failure == "keep" or is_recording() or bool(solution.converged.all()):
            return
        message = (
            f"A gradient is not that of the equation: the backward solve by {self.backward_solver} "
            "ended above its tolerance; allow it more steps, a larger tolerance, or another solver."
        )
        if self.on_failure == "raise":
            raise RunFailed(message)
        warnings.warn(message, stacklevel=2)


Gradient = Unrolled | Detached | Phantom | ImplicitFunction
