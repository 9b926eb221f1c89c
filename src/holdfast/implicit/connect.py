"""Connecting a model, and undoing it: everything is checked before anything is touched."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any

from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from holdfast.errors import InputError
from holdfast.implicit.connection import LayerHook, TokenMask
from holdfast.implicit.layers import Stack, find_stacks
from holdfast.implicit.readings import LayerReading
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
    used_cache: Any

    def readings(self) -> list[LayerReading]:
        """Return, for each connected layer, what its last calls reached."""
        return [hook.reading() for hook in self.hooks]

    def reset(self) -> None:
        """Forget the readings so far."""
        for hook in self.hooks:
            hook.solutions.clear()

    def remove(self) -> None:
        """Leave the model as if it had never been connected; safe to repeat."""
        for handle in self.handles:
            handle.remove()
        if connected(self.model) is self:
            delattr(self.model, _ATTRIBUTE)
            _set_cache(self.model, self.used_cache)

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
    """Return the handle of a connected model; None for a plain one."""
    handle: Connected | None = getattr(model, _ATTRIBUTE, None)
    return handle


def connect(model: PreTrainedModel, connection: Connection) -> Connected:
    """Connect `model` in place; its weights and its checkpoint format stay what they were."""
    stacks = find_stacks(model)
    depth = sum(len(stack.layers) for stack in stacks)
    numbers = parse_layers(connection.layers, depth)
    _check(model, connection)
    hooks, handles = _add_hooks(stacks, numbers, connection)
    handle = Connected(model, connection, numbers, hooks, handles, _cache_setting(model))
    _set_cache(model, False)
    setattr(model, _ATTRIBUTE, handle)
    return handle


def _check(model: PreTrainedModel, connection: Connection) -> None:
    if connected(model) is not None:
        raise InputError(
            "The model is connected already; call .remove() on its handle, "
            "which connected(model) returns, before connecting it anew."
        )
    attention = model.config._attn_implementation
    if connection.needs_second_order and attention != "eager":
        raise InputError(
            f"Descent with Unrolled differentiates twice through attention, which the {attention} "
            f'kernels cannot do; load the model with attn_implementation="eager", '
            f"or choose another gradient."
        )


def _add_hooks(
    stacks: list[Stack], numbers: tuple[int, ...], connection: Connection
) -> tuple[list[LayerHook], list[RemovableHandle]]:
    hooks: list[LayerHook] = []
    handles: list[RemovableHandle] = []
    number = 0
    for stack in stacks:
        mask = TokenMask(stack.owner)
        handles.append(stack.owner.register_forward_pre_hook(mask, with_kwargs=True))
        for layer in stack.layers:
            number += 1
            if number not in numbers:
                continue
            hook = LayerHook(number, layer, connection, mask)
            hooks.append(hook)
            handles.append(layer.register_forward_pre_hook(hook.before, with_kwargs=True))
            # first in line: output recorders and FSDP's resharding must see what we return
            handles.append(layer.register_forward_hook(hook, with_kwargs=True, prepend=True))
    return hooks, handles


def _cache_setting(model: PreTrainedModel) -> Any:
    return getattr(model.config, "use_cache", None)


def _set_cache(model: PreTrainedModel, value: Any) -> None:
    """Decoders keep a cache unless told not to, even for classification."""
    if _cache_setting(model) is not None:
        model.config.use_cache = value
