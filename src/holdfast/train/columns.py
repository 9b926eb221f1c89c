"""Columns of a batch beside the model's inputs, and how a dataset of one's own gets them."""

from typing import Any

import torch
from torch import Tensor

from holdfast.adversary.batch import CANDIDATE_MASK, CANDIDATES, MOVABLE
from holdfast.errors import InputError

ROWS = "ids"
"""Column of a batch that tells which rows it is made of; the model never sees it."""

EXTRA_COLUMNS = (ROWS, MOVABLE, CANDIDATES, CANDIDATE_MASK, "substitutions")
"""What `Trainer` must not remove although the model's forward does not take it."""

_ROLES = ("pad", "cls", "sep", "bos", "eos")  # of special tokens that are no word of a text


def mark_movable(batch: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Return the batch with its movable tokens marked: those not padded and not special."""
    special = getattr(tokenizer, "all_special_ids", None)
    if MOVABLE in batch or special is None or "input_ids" not in batch:
        return batch
    ids: Tensor = batch["input_ids"]
    still = [token for token in special if not _is_a_word(token, tokenizer)]
    ordinary = ~torch.isin(ids, torch.tensor(still, device=ids.device))
    real = batch.get("attention_mask", torch.ones_like(ids)).bool()
    return {**batch, MOVABLE: (ordinary & real).to(ids.dtype)}


def _is_a_word(token: int, tokenizer: Any) -> bool:
    """Whether a special token stands for a word that the tokenizer does not know, and only so."""
    others = {getattr(tokenizer, f"{role}_token_id", None) for role in _ROLES}
    return token == getattr(tokenizer, "unk_token_id", None) and token not in others


def labels_of(dataset: Any) -> list[int]:
    """Return the label of every row of a dataset, in order."""
    examples = getattr(dataset, "examples", None)
    if examples is not None:  # no need to build every item
        return [int(example.label) for example in examples]
    rows = (dataset[row] for row in range(len(dataset)))
    return [int(_label(item)) for item in rows]


def lengths_of(dataset: Any) -> list[int]:
    """Return the number of tokens of every row of a dataset, in order."""
    return [len(dataset[row]["input_ids"]) for row in range(len(dataset))]


def _label(item: Any) -> Any:
    for name in ("labels", "label"):
        if name in item:
            return item[name]
    raise InputError(
        "The training rows have no column `labels` or `label`, by which batches with equal "
        "numbers of each class are made; add one."
    )
