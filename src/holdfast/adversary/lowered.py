"""A model in autocast's precision, weights and all, for the many forwards of an ascent.

Autocast keeps weights in fp32 for the optimizer's sake and casts them, and what goes into each
layer, in every forward; the casts of weights that are not trained it does not even remember. An
adversary updates no weight, so they are cast once, and a small model, whose time goes into
launching kernels, runs half as many.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def lowered(model: nn.Module) -> Iterator[None]:
    """Run the model in autocast's precision without autocast; outside autocast, leave it."""
    device = next(model.parameters()).device.type
    if not torch.is_autocast_enabled(device):
        yield
        return
    precision, forward = torch.get_autocast_dtype(device), _without_wrapper(model)
    try:
        with (
            swapped(model.modules(), lambda weight: weight.detach().to(precision)),
            torch.autocast(device, enabled=False),
        ):
            yield
    finally:
        if forward is not None:
            model.forward = forward


@contextmanager
def swapped(parts: Iterable[nn.Module], cast: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Put what `cast` makes of single-precision weights in their place, as long as it is open."""
    made: dict[int, Any] = {}  # a weight that two parts share stays one
    kept: list[tuple[dict[str, Any], str, nn.Parameter]] = []
    try:
        for part in parts:
            for name, parameter in part._parameters.items():
                if parameter is not None and parameter.dtype == torch.float32:
                    kept.append((part._parameters, name, parameter))
                    if id(parameter) not in made:
                        made[id(parameter)] = cast(parameter)
                    part._parameters[name] = made[id(parameter)]
        yield
    finally:
        for of, name, parameter in kept:
            of[name] = parameter


def _without_wrapper(model: nn.Module) -> Any:
    """Call the model's own forward where accelerate has wrapped autocast around it."""
    own = model.__dict__.get("_original_forward")
    if own is None:
        return None
    wrapped, model.forward = model.forward, own
    return wrapped
