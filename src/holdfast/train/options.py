"""The options of `transformers.Trainer` that `RobustTrainer` hands on as they are."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import torch
from torch import Tensor
from transformers import PreTrainedModel, TrainerCallback
from transformers.trainer_utils import EvalPrediction

from holdfast.data import EncodedExamples, PadBatch


class TrainerOptions(TypedDict, total=False):
    """What else `Trainer` takes, by name; `compute_loss_func` is left out: the objective is it."""

    data_collator: Callable[..., Any] | None
    train_dataset: Any
    eval_dataset: Any
    processing_class: Any
    model_init: Callable[..., PreTrainedModel] | None
    compute_metrics: Callable[[EvalPrediction], dict[str, float]] | None
    callbacks: list[TrainerCallback] | None
    optimizers: tuple[Any, Any]
    optimizer_cls_and_kwargs: tuple[type[torch.optim.Optimizer], dict[str, Any]] | None
    preprocess_logits_for_metrics: Callable[[Tensor, Tensor], Tensor] | None


def with_collator(options: TrainerOptions) -> TrainerOptions:
    """Return the options with a collator that pads every column of encoded examples.

    Trainer's own, where only a tokenizer is given, pads the tokenizer's columns and no others.
    """
    tokenizer, given = options.get("processing_class"), options.get("data_collator")
    data = (options.get("train_dataset"), options.get("eval_dataset"))
    encoded = any(isinstance(dataset, EncodedExamples) for dataset in data)
    if given is not None or tokenizer is None or not encoded:
        return options
    return {**options, "data_collator": PadBatch(tokenizer)}


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse a misspelt option, and those of Trainer's that would have no effect."""
    unknown = sorted(set(options) - set(TrainerOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(TrainerOptions.__annotations__))
        raise TypeError(f"RobustTrainer takes no argument {unknown[0]!r}; of Trainer's: {known}.")
