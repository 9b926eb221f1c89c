"""The options of `transformers.Trainer` that `RobustTrainer` hands on as they are."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import torch
from torch import Tensor
from transformers import PreTrainedModel, TrainerCallback
from transformers.trainer_utils import EvalPrediction


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


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse a misspelt option, and those of Trainer's that would have no effect."""
    unknown = sorted(set(options) - set(TrainerOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(TrainerOptions.__annotations__))
        raise TypeError(f"RobustTrainer takes no argument {unknown[0]!r}; of Trainer's: {known}.")
