"""Which vector stands for a text, and the frozen pre-trained model whose vectors are kept."""

import copy
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.adversary import Batch, inputs_of, plain
from holdfast.errors import InputError
from holdfast.implicit import connected

Features = Literal["pooler", "first", "mean"]
"""The pooler's output, as in the papers; the first token's last state (in a decoder, where the
first token sees nothing, the last real token's); the mean of the last states of real tokens."""


def last_states(output: Any) -> Tensor:
    """Return (batch, tokens, width) from the output of a run with all hidden states."""
    # an encoder-decoder classifies from its decoder, which has read everything
    decoder = getattr(output, "decoder_hidden_states", None)
    states: Tensor = (decoder if decoder is not None else output.hidden_states)[-1]
    return states


def pick(features: Features, model: nn.Module, states: Tensor, batch: Batch) -> Tensor:
    """Return (batch, width), one vector a text; `states` are the base model's last."""
    match features:
        case "pooler":
            picked: Tensor = _pooler(model)(states)
        case "first":
            picked = states[torch.arange(len(states), device=states.device), _place(model, batch)]
        case "mean":
            real = _real(batch).unsqueeze(2).to(states.dtype)
            picked = (states * real).sum(dim=1) / real.sum(dim=1).clamp_min(1)
    return picked


class FrozenReference(nn.Module):
    """The pre-trained model as it came: no connection, no dropout, nothing to train."""

    def __init__(self, model: nn.Module, features: Features) -> None:
        super().__init__()
        self.features = features
        if features == "pooler":
            _pooler(model)  # refuse now, not in the first step
        self.model = _plain_copy(plain(model)).requires_grad_(False)
        self.train(False)

    def train(self, mode: bool = True) -> "FrozenReference":
        """Stay in eval mode, whatever holds it is switched to."""
        super().train(False)
        return self

    @torch.no_grad()
    def forward(self, batch: Batch) -> Tensor:
        """Return the features of the batch's texts."""
        inputs = inputs_of(batch)
        if self.model.config.is_encoder_decoder:  # what the classifier around it would do
            shift: Any = self.model._shift_right
            inputs["decoder_input_ids"] = shift(inputs["input_ids"])
        return pick(self.features, self.model, self.model(**inputs).last_hidden_state, batch)


def _plain_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of the base model without a connection, whose hooks a copy carries along."""
    whole = copy.deepcopy(model)  # whole, so that the handle that removes the hooks comes along
    base = cast(PreTrainedModel, whole.base_model)
    for holder in (whole, base):
        if handle := connected(holder):
            handle.remove()
    return base


def _pooler(model: nn.Module) -> nn.Module:
    pooler: nn.Module | None = getattr(plain(model).base_model, "pooler", None)
    # ALBERT's is a bare Linear, whose activation stands in the model's forward
    if pooler is None or isinstance(pooler, nn.Linear):
        raise InputError(
            f"{type(plain(model)).__name__} has no pooler to take features from; "
            'choose features "first" or "mean".'
        )
    return pooler


def _place(model: nn.Module, batch: Batch) -> Tensor:
    """Return (batch,): where the token stands that has seen the whole text."""
    real = _real(batch)
    if not _reads_forward(plain(model)):
        return real.argmax(dim=1)
    return real.shape[1] - 1 - real.flip(1).argmax(dim=1)


def _reads_forward(model: PreTrainedModel) -> bool:
    """Tell whether tokens see only those before them, in the part the states come from."""
    causal = any(getattr(part, "is_causal", False) is True for part in model.modules())
    return causal or bool(model.config.is_encoder_decoder)


def _real(batch: Batch) -> Tensor:
    mask = batch.get("attention_mask")
    return torch.ones_like(batch["input_ids"]) if mask is None else mask.long()
