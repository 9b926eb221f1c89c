"""Connecting a model, and undoing it: everything is checked before anything is touched."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from holdfast.errors import InputError
from holdfast.implicit.connection import LayerHook
from holdfast.implicit.layers import find_layers
from holdfast.implicit.padding import share_padding
from holdfast.implicit.readings import LayerReading, Tally
from holdfast.implicit.spec import Connection, parse_layers

_ATTRIBUTE = "holdfast_connected"


@dataclass(eq=False)
class Connected:
    """A connected model's handle: read what the solves reached, or remove the connection."""

    model: PreTrainedModel
    connection: Connection
    layers: tuple[int, ...]
    hooks: list[LayerHook]
    handles: list[RemovableHandle]

    def readings(self) -> list[LayerReading]:
        """Return, for each connected layer, what its calls reached since the last reset."""
        return [hook.reading() for hook in self.hooks]

    def reset(self) -> None:
        """Forget the readings so far."""
        for hook in self.hooks:
            hook.tally.clear()

    def remove(self) -> None:
        """Leave the model as if it had never been connected; safe to repeat."""
        for handle in self.handles:
            handle.remove()
        if connected(self.model) is self:
            delattr(self.model.base_model, _ATTRIBUTE)
            _forget_compiled_code()

    def __enter__(self) -> "Connected":
        """Use as `with connect(model, ...) as connected:` to remove it at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the connection."""
        self.remove()


def connected(model: PreTrainedModel) -> Connected | None:
    """Return the handle of a connected model; None for a plain one.

    It is kept on the body, so that it is found with and without a head, whichever was connected.
    """
    handle: Connected | None = getattr(model.base_model, _ATTRIBUTE, None)
    return handle


@contextmanager
def unread(model: PreTrainedModel) -> Iterator[None]:
    """Keep what happens inside out of the readings; a plain model has none."""
    handle = connected(model)
    hooks = [] if handle is None else handle.hooks
    kept = [hook.tally for hook in hooks]
    for hook in hooks:
        hook.tally = Tally()
    try:
        yield
    finally:
        for hook, tally in zip(hooks, kept, strict=True):
            hook.tally = tally


def connect(model: PreTrainedModel, connection: Connection) -> Connected:
    """Connect `model` in place; its weights and its checkpoint format stay what they were."""
    if connection is None:  # the preset of the plain model, which a loop over presets may give
        raise InputError(
            "There is no connection to make: None, the preset `bert`, is the plain model; use the "
            "model as it is."
        )
    layers = find_layers(model)
    numbers = parse_layers(connection.layers, len(layers))
    _check(model, layers, connection)
    hooks = [LayerHook(number, layers[number - 1], connection) for number in numbers]
    handles = [model.base_model.register_forward_pre_hook(NoCache(model), with_kwargs=True)]
    handles += share_padding(model)
    for hook in hooks:
        handles += _add(hook, layers[hook.number - 1])
    others = [layer for number, layer in enumerate(layers, start=1) if number not in numbers]
    handles += [layer.register_forward_hook(_leave_alone) for layer in others]
    handle = Connected(model, connection, numbers, hooks, handles)
    setattr(model.base_model, _ATTRIBUTE, handle)
    _forget_compiled_code()
    return handle


def _check(model: PreTrainedModel, layers: list[nn.Module], connection: Connection) -> None:
    if any(isinstance(hook, LayerHook) for part in layers for hook in part._forward_hooks.values()):
        raise InputError(
            "The model is connected already; call .remove() on its handle, "
            "which connected(model) returns, before connecting it anew."
        )
    places = set((getattr(model, "hf_device_map", None) or {}).values())
    if len(places) > 1:
        raise InputError(
            f"The model is spread over {len(places)} devices, where a layer's input and its output "
            "may lie apart; load it on one, without device_map."
        )
    attention = model.config._attn_implementation
    if connection.needs_second_order and attention != "eager":
        raise InputError(
            f"Descent with Unrolled differentiates twice through attention, which the {attention} "
            f'kernels cannot do; load the model with attn_implementation="eager", '
            f"or choose another gradient."
        )
    if attention == "flex_attention":
        raise InputError(
            "flex_attention hides the padding from the connection; load the model with another "
            'attention, such as attn_implementation="sdpa".'
        )


def _add(hook: LayerHook, layer: nn.Module) -> list[RemovableHandle]:
    return [
        layer.register_forward_pre_hook(hook.before, with_kwargs=True),
        # first in line: output recorders and FSDP's resharding must see what we return
        layer.register_forward_hook(hook, with_kwargs=True, prepend=True),
    ]


def _leave_alone(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
    """Do nothing, on the layers that are not connected.

    torch.compile does not look whether a module *without* hooks still has none, and would run
    the code of such a layer for the connected ones.
    """


def _forget_compiled_code() -> None:
    """Let torch.compile see that hooks came or went, which it does not notice by itself."""
    torch.compiler.reset()


class NoCache:
    """Calls a model without a key-value cache unless one is asked for, which is then refused.

    Decoders keep a cache by default, even for classification. Their configuration is left as it
    is: it is saved with the model, and the plain model may well use a cache.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.names = list(inspect.signature(model.base_model.forward).parameters)

    def __call__(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fill in what was not said (a forward pre-hook)."""
        unsaid = kwargs.get("use_cache") is None and "use_cache" in self.names[len(args) :]
        return args, {**kwargs, "use_cache": False} if unsaid else kwargs
