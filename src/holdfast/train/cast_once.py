"""Weights cast to half precision once in a step, however often the step uses them.

Autocast would cast a weight at its first use and keep it. A recorded step cannot let it (see
`holdfast.train.recorded.casting_anew`), and then casts each weight at every use. A solver's steps
use the weights of a layer again and again: for a small model the casts are a seventh to a sixth of
all that the GPU is asked to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def cast_once(model: nn.Module, dtype: torch.dtype | None) -> Iterator[None]:
    """Let the linear layers of a model have weights of this dtype, cast now; none: leave them.

    Derivatives reach the weights themselves. Whatever runs the model must do so under autocast.
    """
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    kept = [] if dtype is None else [(of._parameters, dict(of._parameters)) for of in linear]
    try:
        for parameters, own in kept:
            parameters.update({name: _cast(weight, dtype) for name, weight in own.items()})
        yield
    finally:
        for parameters, own in kept:
            parameters.update(own)


def _cast(weight: nn.Parameter | None, dtype: torch.dtype | None) -> nn.Parameter | None:
    # typed as a parameter, for the layer's sake; it is what was computed from one
    return None if weight is None else weight.to(dtype)  # type: ignore[return-value]
