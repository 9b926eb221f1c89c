"""A checkpoint folder as a victim: model, connection, tokenizer and canonical form together."""

import os
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from holdfast.errors import InputError, first_line
from holdfast.implicit import connect, require_safetensors
from holdfast.implicit.checkpoint import attention_for, model_folder, read_connection
from holdfast.implicit.quiet import quiet_transformers
from holdfast.text import Wording
from holdfast.victim.classes import require_classes
from holdfast.victim.model import ModelVictim
from holdfast.victim.precision import WEIGHTS, Precision
from holdfast.victim.window import ATTACKED, window


def load(
    folder: str | Path,
    *,
    max_length: int | None = None,
    longest: int = ATTACKED,
    precision: Precision = "fp32",
    device: str | torch.device | None = None,
    batch_tokens: int | None = None,
    shared: bool = False,
) -> ModelVictim:
    """Return the whole system that a folder holds; without `device` a GPU where there is one.

    Its texts are rewritten by canonical.json and read as text.json says, and its layers connected
    by connection.json, where the folder has them: the attacker queries what a user would. Where
    neither `max_length` nor text.json says how many tokens are kept, those that the model reads
    are, and no more than `longest`. A GPU is `shared` where other processes need it too: batches
    are smaller, and answers differ by rounding.
    """
    path = model_folder(folder)
    require_safetensors(path)
    wording = Wording.load(path)
    settings = wording.settings
    model = _model(path, getattr(torch, WEIGHTS[precision])).to(device or default_device())
    tokenizer = _tokenizer(path)
    otherwise = longest if settings is None else settings.max_length
    return ModelVictim(
        model,
        tokenizer,
        max_length=window(model, tokenizer, max_length, otherwise),
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
    except (MemoryError, torch.OutOfMemoryError):  # nothing is wrong with the folder
        raise
    except Exception as error:  # whatever the file formats or the architectures raise
        raise InputError(
            f"{path} could not be loaded as a classifier ({first_line(error)}); give a folder with "
            "config.json, a tokenizer and safetensors weights."
        ) from error
    if report["missing_keys"]:
        raise InputError(
            f"{path} holds no trained classifier (there is no {min(report['missing_keys'])}); "
            "train one with holdfast train, and give the folder `model` that it writes."
        )
    require_classes(model.config, str(path))
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
        raise InputError(
            f"{path} holds no tokenizer that can be read ({first_line(error)}); save it beside the "
            "model."
        ) from error


def default_device() -> torch.device:
    """Return the GPU of this process where there is one, as torchrun numbers them."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
