"""What auxiliary models say of texts: their vectors, their likelihood, the words that fit."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from holdfast.attack.auxiliary import Auxiliary, load_auxiliary
from holdfast.attack.goal import Floats
from holdfast.attack.sources import ModelFolder
from holdfast.errors import InputError


def sentence_vectors(folder: ModelFolder, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return (texts, width): the mean of a text's last hidden states, of length 1."""
    _require_mean_pooling(folder)
    encoder = load_auxiliary(folder, "encoder")

    def mean(tokens: Tensor, mask: Tensor) -> Tensor:
        states = encoder.model(input_ids=tokens, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(2).to(states.dtype)
        return torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1), dim=1)

    return torch.stack(encoder.run(encoder.ids(texts), mean)).double().numpy()


def _require_mean_pooling(folder: ModelFolder) -> None:
    """Refuse what sentence-transformers would pool in another way."""
    settings = folder.source / "1_Pooling" / "config.json"
    if settings.is_file() and not json.loads(settings.read_text()).get("pooling_mode_mean_tokens"):
        raise InputError(
            f"{folder.source} does not take the mean over tokens; give a sentence encoder that "
            "does, such as all-MiniLM-L6-v2."
        )


def log_likelihoods(folder: ModelFolder, texts: Sequence[str]) -> Floats:
    """Return the sum of the log-probabilities of each text's tokens, given those before."""
    model = load_auxiliary(folder, "causal")
    first = _first_token(model, folder)
    rows = [[first, *_without(first, ids)][: model.max_length] for ids in model.ids(texts)]

    def total(tokens: Tensor, mask: Tensor) -> Tensor:
        logits = model.model(input_ids=tokens, attention_mask=mask).logits[:, :-1]
        logs = logits.float().log_softmax(2).gather(2, tokens[:, 1:, None]).squeeze(2)
        sums: Tensor = (logs * mask[:, 1:]).sum(1, keepdim=True)
        return sums

    return torch.cat(model.run(rows, total)).double().numpy()


def _first_token(model: Auxiliary, folder: ModelFolder) -> int:
    names = ("bos_token_id", "eos_token_id", "cls_token_id")
    found = (getattr(model.tokenizer, name, None) for name in names)
    first = next((token for token in found if token is not None), None)
    if first is None:
        raise InputError(
            f"The tokenizer in {folder.source} has no token that begins a text; give a causal "
            "language model whose tokenizer has one."
        )
    return int(first)


def _without(first: int, ids: Sequence[int]) -> Sequence[int]:
    return ids[1:] if ids and ids[0] == first else ids


class Gap(NamedTuple):
    """A place in a row of tokens for which the likeliest tokens are wanted."""

    row: tuple[int, ...]
    at: int


def likely_tokens(folder: ModelFolder, gaps: Sequence[Gap], limit: int) -> NDArray[np.int64]:
    """Return (gaps, limit): the ids a masked language model finds likeliest there."""
    model = load_auxiliary(folder, "masked")
    rows = {row: number for number, row in enumerate(dict.fromkeys(gap.row for gap in gaps))}
    places: list[list[int]] = [[] for _ in rows]
    for gap in gaps:
        places[rows[gap.row]].append(gap.at)
    most = min(limit, len(model.tokenizer))

    def best(tokens: Tensor, mask: Tensor) -> Tensor:
        logits = model.model(input_ids=tokens, attention_mask=mask).logits
        likeliest: Tensor = logits[:, :, : len(model.tokenizer)].topk(most, dim=2).indices
        return likeliest

    answers = model.run(list(rows), best)
    return np.array([answers[rows[gap.row]][gap.at].numpy() for gap in gaps]).astype(np.int64)
