"""Models that help an attack: sentence encoders, and causal and masked language models.

Their batches have a shape that depends on the lengths of the texts alone, as those of a victim
do, so that what they say of a text does not depend on what else was asked.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from holdfast.attack.sources import ModelFolder
from holdfast.data import ensure_padding
from holdfast.errors import InputError
from holdfast.implicit import require_safetensors
from holdfast.implicit.layers import positions
from holdfast.implicit.quiet import quiet_transformers
from holdfast.victim.checkpoint import default_device
from holdfast.victim.lanes import Lanes, Shape

Kind = Literal["encoder", "causal", "masked"]
Forward = Callable[[Tensor, Tensor], Tensor]
"""(texts, width) tokens and their mask to (texts, anything), on the model's device."""

_CLASSES = {
    "encoder": AutoModel,
    "causal": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
}
_WORDING = {
    "encoder": "a sentence encoder",
    "causal": "a causal language model",
    "masked": "a masked language model",
}
_LONGEST = 512
_ON_CPU, _ON_GPU = (256, 1), (8192, 8)  # tokens of a batch, widths are multiples of


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """A model with its tokenizer, ready to run."""

    model: Any
    tokenizer: Any
    max_length: int

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts, cut to the model's window."""
        encoded = self.tokenizer(
            list(texts), truncation=True, max_length=self.max_length, verbose=False
        )
        found: list[list[int]] = encoded["input_ids"]
        return found

    def run(self, rows: Sequence[Sequence[int]], forward: Forward) -> list[Tensor]:
        """Return what `forward` makes of each row of tokens, on the CPU."""
        device = self.model.device
        budget, multiple = _ON_CPU if device.type == "cpu" else _ON_GPU
        lanes = Lanes(Shape(self.max_length, budget, multiple, self.tokenizer.pad_token_id))
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        flat = np.fromiter((i for row in rows for i in row), np.int32, count=int(lengths.sum()))
        lanes.put(flat, lengths, 0, np.arange(len(rows)))
        answers: list[Tensor] = [torch.empty(0)] * len(rows)
        while (batch := lanes.full() or lanes.fullest()) is not None:
            tokens = torch.from_numpy(batch.tokens).long().to(device)
            column = torch.arange(tokens.shape[1])
            mask = (column < torch.from_numpy(batch.lengths)[:, None]).long().to(device)
            with torch.no_grad():
                found = forward(tokens, mask).float().cpu()
            for ticket, answer in zip(batch.tickets.tolist(), found, strict=False):
                answers[ticket] = answer  # the rows beyond the tickets only fill the shape
        return answers


@lru_cache(maxsize=4)
def load_auxiliary(folder: ModelFolder, kind: Kind) -> Auxiliary:
    """Return the model of a folder, on a GPU where there is one."""
    path = folder.source
    require_safetensors(path)
    device = default_device()
    try:
        with quiet_transformers(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, report = _CLASSES[kind].from_pretrained(
                path, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
            tokenizer: Any = AutoTokenizer.from_pretrained(path)
            model = model.to(device).eval()
    except Exception as error:  # whatever the file formats or the architectures raise
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"{path} could not be loaded as {_WORDING[kind]} ({reason}).") from error
    if report["missing_keys"] and kind != "encoder":  # an encoder may lack a pooler: it needs none
        raise InputError(
            f"{path} is not {_WORDING[kind]} (there is no {min(report['missing_keys'])}); give a "
            "model with the head that it was pre-trained with."
        )
    tokenizer = ensure_padding(tokenizer, model)
    limits = [tokenizer.model_max_length, positions(model) or _LONGEST, _LONGEST]
    found = Auxiliary(model, tokenizer, min(limits))
    if kind == "causal":
        _require_causal(found, folder)
    return found


@torch.no_grad()
def _require_causal(auxiliary: Auxiliary, folder: ModelFolder) -> None:
    """Refuse a model that sees the words to come: it would find any word likely."""
    ids = torch.tensor([[5, 6, 7], [5, 6, 8]], device=auxiliary.model.device)
    logits = auxiliary.model(input_ids=ids).logits[:, 1]
    if not torch.allclose(logits[0], logits[1], atol=1e-3):
        raise InputError(
            f"{folder.source} reads the words after a word too, so it is no causal language "
            "model; give one such as GPT-2."
        )
