"""Plain fixed-point iteration, x <- (1 - damping) x + damping g(x)."""

from dataclasses import dataclass

from torch import Tensor

from holdfast.solve.iterate import iterate
from holdfast.solve.settings import require_at_least, require_positive
from holdfast.solve.solution import Map, Pair, Solution


@dataclass(frozen=True)
class FixedPoint:
    """Apply g again and again; converges only where g contracts."""

    max_steps: int = 12
    tolerance: float = 1e-2
    damping: float = 1.0

    def __post_init__(self) -> None:
        """Refuse settings that make no solve."""
        require_at_least(1, self, "max_steps")
        require_at_least(0, self, "tolerance")
        require_positive(self, "damping")

    def __call__(self, g: Map, start: Tensor, known: Pair | None = None) -> Solution:
        """Solve x = g(x) from `start`; a known pair is of no use to this method."""
        return iterate(g, start, _Step(self.damping), self.tolerance, self.max_steps)


class _Step:
    def __init__(self, damping: float) -> None:
        self.damping = damping

    def __call__(self, image: Tensor, residual: Tensor) -> Tensor:
        return image if self.damping == 1.0 else image - (1.0 - self.damping) * residual

    def narrow(self, rows: Tensor) -> None:
        """Nothing is remembered between steps."""
