"""Running one layer again, on other hidden states, exactly as the model ran it."""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from holdfast.errors import InputError

_PER_EXAMPLE = {
    # side arguments whose first dimension may be the batch; any other tensor that looks like
    # one (a table of as many rows as there are examples) must not be cut
    "attention_mask",
    "encoder_attention_mask",
    "encoder_decoder_position_bias",
    "encoder_hidden_states",
    "position_bias",
    "position_embeddings",
    "position_ids",
}
_NUMBERED = ("cuda", "xpu")
"""Kinds of devices of which there may be several, each with a generator."""
_CACHES = ("past_key_values", "layer_past", "past_key_value")


@dataclass(frozen=True)
class RandomState:
    """The state of the random generators a layer's dropout draws from."""

    cpu: Tensor
    own: Tensor | None
    """That of the device, where it has one of its own."""
    device: torch.device

    @classmethod
    def now(cls, device: torch.device) -> "RandomState":
        """Return the state as it is."""
        own = None
        if device.type == "mps":  # there is but one
            own = torch.mps.get_rng_state()
        elif device.type in _NUMBERED:
            own = torch.get_device_module(device).get_rng_state(device)
        return cls(torch.get_rng_state(), own, device)

    def restore(self) -> None:
        """Set the generators back to this state."""
        torch.set_rng_state(self.cpu)
        if self.own is not None and self.device.type == "mps":
            torch.mps.set_rng_state(self.own)
        elif self.own is not None:
            torch.get_device_module(self.device).set_rng_state(self.own, self.device)


@dataclass(frozen=True)
class LayerCall:
    """A layer and everything but the hidden states that it was called with."""

    module: nn.Module
    arguments: Mapping[str, Any]
    hidden_name: str
    dtype: torch.dtype
    autocast: torch.dtype | None
    """The autocast precision the model runs in, which the solver's own arithmetic must not."""
    randomness: RandomState | None
    """Where the dropout masks of the layer's own call began, to draw the same again."""
    without_dropout: bool

    def __call__(self, hidden: Tensor) -> Tensor:
        """Return the layer's output for these hidden states."""
        if self.randomness is not None:
            self.randomness.restore()
        with _evaluating(self.module, self.without_dropout), self._casting(hidden.device.type):
            # an empty context hides the call from transformers' recording of outputs, which
            # would otherwise list the attentions of every evaluation
            return Context().run(self._forward, hidden.to(self.dtype))

    def _casting(self, device: str) -> contextlib.AbstractContextManager[object]:
        """Return the precision the model ran in; nothing to set is the usual case, and quicker."""
        if self.autocast is None and not torch.is_autocast_enabled(device):
            return contextlib.nullcontext()
        return torch.autocast(device, dtype=self.autocast, enabled=self.autocast is not None)

    def _forward(self, hidden: Tensor) -> Tensor:
        # `forward`, not the module itself: the hooks are for the model's own call
        return hidden_of(self.module.forward(**{**self.arguments, self.hidden_name: hidden}))

    def narrow(self, rows: Tensor, batch: int) -> "LayerCall | None":
        """Return the call for some examples of the batch; None if it cannot be cut safely."""
        if self.randomness is not None or is_training(self.module):
            return None  # masks are drawn for the whole batch at once
        others = {name: arg for name, arg in self.arguments.items() if name != self.hidden_name}
        cut = {name: _cut(name, value, rows, batch) for name, value in others.items()}
        if any(value is _UNCUTTABLE for value in cut.values()):
            return None
        return replace(self, arguments=cut)


def is_training(module: nn.Module) -> bool:
    """Whether a part of a layer is in training mode: dropout alone may be, to sample answers."""
    return any(part.training for part in module.modules())


_UNCUTTABLE = object()


def _cut(name: str, value: Any, rows: Tensor, batch: int) -> Any:
    if isinstance(value, tuple):
        parts = [_cut(name, part, rows, batch) for part in value]
        return _UNCUTTABLE if _UNCUTTABLE in parts else tuple(parts)
    if not isinstance(value, Tensor) or value.dim() == 0 or value.shape[0] != batch:
        return value
    return value[rows] if name in _PER_EXAMPLE else _UNCUTTABLE


def hidden_of(output: Any) -> Tensor:
    """Return the hidden states of a layer's output."""
    hidden: Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


def with_hidden(output: Any, hidden: Tensor) -> Any:
    """Return a layer's output with other hidden states."""
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def refuse_cache(arguments: Mapping[str, Any]) -> None:
    """Refuse a key-value cache: every evaluation of the solve would append to it."""
    if any(arguments.get(name) is not None for name in _CACHES):
        raise InputError(
            "A connected model cannot run with a key-value cache, because each evaluation of the "
            "solve would append to it; call the model, or generate, with use_cache=False."
        )


@contextlib.contextmanager
def _evaluating(module: nn.Module, wanted: bool) -> Iterator[None]:
    """Switch a training module's dropout off for a while."""
    training = [part for part in module.modules() if part.training] if wanted else []
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
