"""A model in autocast's precision, weights and all, for the many forwards of an ascent.

Autocast keeps weights in fp32 for the optimizer's sake and casts them, and what goes into each
layer, in every forward; the casts of weights that are not trained it does not even remember. An
adversary updates no weight, so they are cast once, and a small model, whose time goes into
launching kernels, runs half as many.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def lowered(model: nn.Module) -> Iterator[None]:
    """Run the model in autocast's precision without autocast; outside autocast, leave it."""
    device = next(model.parameters()).device.type
    if not torch.is_autocast_enabled(device):
        yield
        return
    kept = _cast(model, torch.get_autocast_dtype(device))
    forward = _without_wrapper(model)
    try:
        with torch.autocast(device, enabled=False):
            yield
    finally:
        if forward is not None:
            model.forward = forward
        for part, name, parameter in kept:
            part._parameters[name] = parameter


def _cast(model: nn.Module, precision: torch.dtype) -> list[tuple[nn.Module, str, nn.Parameter]]:
    """Put cast weights in place of the parameters; return what stood where."""
    cast: dict[int, Any] = {}  # a weight that two parts share stays one
    kept = []
    for part in model.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and parameter.dtype == torch.float32:
                kept.append((part, name, parameter))
                lower = cast.setdefault(id(parameter), parameter.detach().to(precision))
                part._parameters[name] = lower
    return kept


def _without_wrapper(model: nn.Module) -> Any:
    """Call the model's own forward where accelerate has wrapped autocast around it."""
    own = model.__dict__.get("_original_forward")
    if own is None:
        return None
    wrapped, model.forward = model.forward, own
    return wrapped
