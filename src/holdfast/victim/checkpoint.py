"""A checkpoint folder as a victim: model, connection, tokenizer and canonical form together."""

import os
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from holdfast.errors import InputError
from holdfast.implicit import connect, require_safetensors
from holdfast.implicit.checkpoint import attention_for, read_connection
from holdfast.implicit.quiet import quiet_transformers
from holdfast.text import Wording
from holdfast.victim.model import ModelVictim
from holdfast.victim.precision import Precision


def load(
    folder: str | Path,
    *,
    max_length: int | None = None,
    precision: Precision = "fp32",
    device: str | torch.device | None = None,
    batch_tokens: int | None = None,
    shared: bool = False,
) -> ModelVictim:
    """Return the whole system that a folder holds; without `device` a GPU where there is one.

    Its texts are rewritten by canonical.json and read as text.json says, and its layers connected
    by connection.json, where the folder has them: the attacker queries what a user would. A GPU is
    `shared` where other processes need it too: batches are smaller, and answers differ by rounding.
    """
    path = Path(folder)
    require_safetensors(path)
    wording = Wording.load(path)
    settings = wording.settings
    trained = None if settings is None else settings.max_length
    weights = torch.float16 if precision == "fp16" else torch.float32
    model = _model(path, weights).to(device or default_device())
    return ModelVictim(
        model,
        _tokenizer(path),
        max_length=max_length or trained,
        canonical=wording.canonical,
        word_level=settings is not None and settings.mode == "word_level",
        precision=precision,
        batch_tokens=batch_tokens,
        shared=shared,
    )


def _model(path: Path, weights: torch.dtype) -> Any:
    connection = read_connection(path)
    try:
        with quiet_transformers():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                path,
                use_safetensors=True,
                dtype=weights,
                attn_implementation=attention_for(connection),
                output_loading_info=True,
            )
    except Exception as error:  # whatever the file formats or the architectures raise
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"{path} could not be loaded as a classifier ({reason}).") from error
    if report["missing_keys"]:
        raise InputError(
            f"{path} holds no trained classifier (there is no {min(report['missing_keys'])}); "
            "attack a model that was fine-tuned, such as the folder `model` of a training run."
        )
    if connection is not None:
        connect(model, connection)
    return model


def _tokenizer(path: Path) -> Any:
    # without its files transformers makes one that knows no word at all, and does not say so
    if not any(path.glob("tokenizer*")) and not any(path.glob("vocab*")):
        raise InputError(f"{path} holds no tokenizer; save it beside the model.")
    try:
        return AutoTokenizer.from_pretrained(path)
    except Exception as error:  # whatever the file formats raise
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(
            f"{path} holds no tokenizer that can be read ({reason}); save it beside the model."
        ) from error


def default_device() -> torch.device:
    """Return the GPU of this process where there is one, as torchrun numbers them."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
