"""What every solver of x = g(x) takes and gives back."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Map = Callable[[Tensor], Tensor]
Pair = tuple[Tensor, Tensor]
"""A point and its image under g, known before the solve begins."""

_TINY = 1e-12


@dataclass(frozen=True)
class Solution:
    """The point a solver returns, and how good it measured that point to be."""

    value: Tensor
    """The best point found, shaped (batch, ...)."""
    residual: Tensor
    """(batch,) relative |x - g(x)| of `value`, in at least single precision."""
    start_residual: Tensor
    """(batch,) the same of the point the solve started from."""
    evaluations: int
    """Calls of g over the whole batch."""
    products: int
    """Vector-Jacobian products; only `Descent` needs them."""
    converged: Tensor
    """(batch,) whether `residual` is within the solver's tolerance."""


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return `tensor` in a precision in which a norm can be trusted; never lowers it."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def relative_size(residual: Tensor, image: Tensor) -> Tensor:
    """Return |g(x) - x| / |g(x)| for each example of the batch."""
    return _sizes(residual) / _sizes(image).clamp_min(_TINY)


def _sizes(x: Tensor) -> Tensor:
    sizes: Tensor = at_least_float32(x).flatten(1).norm(dim=1)
    return sizes


def relative_residual(point: Tensor, image: Tensor) -> Tensor:
    """Return |x - g(x)| / |g(x)| for each example of the batch."""
    point, image = at_least_float32(point), at_least_float32(image)
    return relative_size(image - point, image)


def per_example(values: Tensor, like: Tensor) -> Tensor:
    """Return (batch,) `values` shaped to broadcast over the other dimensions of `like`."""
    return values.view(-1, *[1] * (like.dim() - 1))
