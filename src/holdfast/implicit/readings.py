"""What the solves of a connected layer reached, over its last calls."""

from collections.abc import Collection
from dataclasses import dataclass

import torch

from holdfast.solve import Solution

REMEMBERED_CALLS = 64
"""Calls a layer remembers; residuals stay on the device until they are read."""


@dataclass(frozen=True)
class LayerReading:
    """Means over the examples of the last calls; residuals are relative, |x - g(x)| / |g(x)|."""

    layer: int
    residual_before: float
    residual_after: float
    evaluations: float
    """Calls of the layer for each solve, besides the layer's own call."""
    converged: float
    """Share of examples solved within the tolerance."""


def read(layer: int, solutions: Collection[Solution]) -> LayerReading:
    """Return the means; not-a-number where the layer has not been called."""
    if not solutions:
        return LayerReading(layer, float("nan"), float("nan"), float("nan"), float("nan"))
    return LayerReading(
        layer=layer,
        residual_before=float(torch.cat([s.start_residual for s in solutions]).mean()),
        residual_after=float(torch.cat([s.residual for s in solutions]).mean()),
        evaluations=sum(s.evaluations for s in solutions) / len(solutions),
        converged=float(torch.cat([s.converged for s in solutions]).float().mean()),
    )
