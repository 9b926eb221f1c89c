"""What each layer was given and what it passed on, in one run of a model.

Everything happens on a twin: a copy of the modules that shares the weights. So the model itself
keeps its connection, its hooks, its readings and its training mode, whatever is tried on the twin.
"""

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from holdfast.implicit.connect import NoCache, connected
from holdfast.implicit.layer_call import LayerCall, hidden_of
from holdfast.implicit.layers import find_layers
from holdfast.implicit.padding import real_tokens, share_padding

Batch = Mapping[str, Tensor]


def twin(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy in evaluation mode and at least single precision, connected like `model`.

    Weights that are precise enough already are shared, so that a twin costs no memory.
    """
    precise = all(p.dtype in (torch.float32, torch.float64) for p in model.parameters())
    shared = [*model.parameters(), *model.buffers()] if precise else []
    copied: PreTrainedModel = copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
    if not precise:
        nn.Module.to(copied, dtype=torch.float32)  # transformers' own `to` has lost its types
    copied.train(False)
    return copied


def plain_twin(model: PreTrainedModel) -> PreTrainedModel:
    """Return a `twin` without a connection."""
    copied = twin(model)
    if handle := connected(copied):
        handle.remove()
    return copied


@dataclass(frozen=True)
class LayerRecord:
    """One layer in one run; `after` is what it passed on, its connection included."""

    number: int
    phi: LayerCall
    before: Tensor
    after: Tensor
    real: Tensor | None
    """(batch, tokens, 1), true on real tokens; None when all are."""

    def masked(self, states: Tensor) -> Tensor:
        """Return these states with the padding set to zero."""
        return states if self.real is None else torch.where(self.real, states, 0)


def capture_layers(
    model: PreTrainedModel, batch: Batch, *, shift: Tensor | None = None
) -> tuple[LayerRecord, ...]:
    """Run `model` without gradients and return a record of each layer, in depth order.

    `shift` is added to what the first layer is given: a perturbed initial value.
    """
    records: list[LayerRecord] = []
    handles = [*share_padding(model), *_record(model, records)]
    # a cache would stay in what is recorded, and every later evaluation append to it
    handles.append(model.base_model.register_forward_pre_hook(NoCache(model), with_kwargs=True))
    if shift is not None:
        handles.append(_shift(find_layers(model)[0], shift))
    try:
        with torch.no_grad():
            model(**batch)
    finally:
        for handle in handles:
            handle.remove()
    return tuple(records)


def _record(model: PreTrainedModel, records: list[LayerRecord]) -> list[RemovableHandle]:
    # last in line: a connection has put its own output in place by then
    return [
        layer.register_forward_hook(_Recorder(number, layer, records), with_kwargs=True)
        for number, layer in enumerate(find_layers(model), start=1)
    ]


class _Recorder:
    def __init__(self, number: int, layer: nn.Module, records: list[LayerRecord]) -> None:
        self.number = number
        self.names = list(inspect.signature(layer.forward).parameters)
        self.records = records

    def __call__(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        arguments = {**dict(zip(self.names, args, strict=False)), **kwargs}
        before, after = arguments[self.names[0]], hidden_of(output)
        real = real_tokens(arguments, before)
        phi = LayerCall(
            module=module,
            arguments=arguments,
            hidden_name=self.names[0],
            dtype=before.dtype,
            autocast=None,
            randomness=None,
            without_dropout=True,
        )
        self.records.append(LayerRecord(self.number, phi, before, after, real))


def _shift(layer: nn.Module, shift: Tensor) -> RemovableHandle:
    name = next(iter(inspect.signature(layer.forward).parameters))

    def add(
        _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if args:
            return (args[0] + shift, *args[1:]), kwargs
        return args, {**kwargs, name: kwargs[name] + shift}

    return layer.register_forward_pre_hook(add, with_kwargs=True)
