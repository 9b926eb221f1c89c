"""What the solves of a connected layer reached, over all its calls since the last reset."""

from dataclasses import dataclass

import torch
from torch import Tensor

from holdfast.solve import Solution

HELD_CALLS = 64
"""Calls whose residuals wait on the device: adding up each would make the host wait for it."""


@dataclass(frozen=True)
class LayerReading:
    """Means over all calls since the last reset; residuals are relative, |x - g(x)| / |g(x)|."""

    layer: int
    residual_before: float
    residual_after: float
    evaluations: float
    """Calls of the layer for each solve, besides the layer's own call."""
    converged: float
    """Share of examples solved within the tolerance."""


@dataclass(frozen=True)
class Reached:
    """What one solve reached, each shaped (batch,); the states would fill the memory."""

    residual_before: Tensor
    residual_after: Tensor
    converged: Tensor


class Tally:
    """Running sums over the solves of one layer."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything so far."""
        self.held: list[Reached] = []
        self.calls = self.evaluations = self.examples = 0
        self.before = self.after = self.converged = 0.0

    def add(self, solution: Solution) -> None:
        """Count one solve in."""
        self.held.append(
            Reached(solution.start_residual, solution.residual, solution.converged),
        )
        self.calls += 1
        self.evaluations += solution.evaluations
        if len(self.held) == HELD_CALLS:
            self._add_up()

    def reading(self, layer: int) -> LayerReading:
        """Return the means; not-a-number where the layer has not been called."""
        if not self.calls:
            return LayerReading(layer, float("nan"), float("nan"), float("nan"), float("nan"))
        self._add_up()
        return LayerReading(
            layer=layer,
            residual_before=self.before / self.examples,
            residual_after=self.after / self.examples,
            evaluations=self.evaluations / self.calls,
            converged=self.converged / self.examples,
        )

    def _add_up(self) -> None:
        self.examples += sum(len(reached.converged) for reached in self.held)
        self.before += _sum([reached.residual_before for reached in self.held])
        self.after += _sum([reached.residual_after for reached in self.held])
        self.converged += _sum([reached.converged for reached in self.held])
        self.held = []


def _sum(parts: list[Tensor]) -> float:
    # one by one to the host: the model may have moved to another device between two calls
    return float(torch.cat([part.cpu().double() for part in parts]).sum()) if parts else 0.0
