"""Trainer's arguments for a run: the paper's protocol in the words of transformers."""

from typing import Any

import torch
from transformers import TrainingArguments

from holdfast.errors import InputError
from holdfast.train.config import Optimisation, TrainConfig
from holdfast.train.folder import RunFolder
from holdfast.train.recorded import is_wanted

EVALUATED = 256  # texts a batch, where launching kernels takes longer than running them


def training_arguments(
    config: TrainConfig, folder: RunFolder, train_size: int
) -> TrainingArguments:
    """Return the arguments; making them also joins the processes of a distributed run."""
    settings = config.optimisation
    args = TrainingArguments(
        output_dir=str(folder.checkpoints),
        seed=config.seed,
        data_seed=config.seed,
        use_cpu=not torch.accelerator.is_available(),  # else bf16 insists on an accelerator
        # An incomplete batch would weigh its examples more, and two processes would fill it up
        # with examples repeated; fewer examples than one batch leave no choice.
        dataloader_drop_last=train_size >= settings.batch_size,
        dataloader_pin_memory=torch.cuda.is_available(),
        remove_unused_columns=False,  # keeps the row numbers
        logging_nan_inf_filter=False,  # RobustTrainer stops instead, and looks less often
        average_tokens_across_devices=False,  # losses are means over examples
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{config.selected_by}",
        greater_is_better=config.selected_by != "loss",
        save_total_limit=2,  # the best and the last
        disable_tqdm=True,  # `Bar` shows progress
        report_to="none",
        log_level="error",
        **_optimisation(settings),
        **_intervals(settings),
    )
    share = _batch_share(settings.batch_size, args.world_size)
    args.per_device_train_batch_size = args.per_device_eval_batch_size = share
    if is_wanted(settings):  # evaluations are not recorded
        args.per_device_eval_batch_size = max(share, EVALUATED)
    return args


def _optimisation(settings: Optimisation) -> dict[str, Any]:
    return {
        "learning_rate": settings.learning_rate,
        # with weight decay 0 this is Adam, number for number; fused: one reading of the weights
        "optim": "adamw_torch_fused" if torch.cuda.is_available() else "adamw_torch",
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "num_train_epochs": settings.epochs,
        "lr_scheduler_type": "linear",
        "warmup_steps": settings.warmup,  # below 1: a share of all steps
        "bf16": settings.precision == "bf16",
        "gradient_accumulation_steps": settings.gradient_accumulation,
        "gradient_checkpointing": settings.gradient_checkpointing,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
    }


def _intervals(settings: Optimisation) -> dict[str, Any]:
    """Evaluate and save together: only a checkpoint that was measured can be the best."""
    logging = {"logging_strategy": "steps", "logging_steps": settings.log_every}
    every = settings.checkpoint_every
    if every is None:
        return {"eval_strategy": "epoch", "save_strategy": "epoch", **logging}
    steps = {"eval_steps": every, "save_steps": every}
    return {"eval_strategy": "steps", "save_strategy": "steps", **steps, **logging}


def _batch_share(batch_size: int, processes: int) -> int:
    if batch_size % processes:
        raise InputError(
            f"A batch of {batch_size} examples cannot be shared evenly by {processes} processes; "
            "choose a multiple."
        )
    return batch_size // processes


def one_device_a_process(args: TrainingArguments | None) -> TrainingArguments | None:
    """Keep Trainer from `DataParallel`, whose copies of a model lose its connection."""
    if args is not None and args.n_gpu > 1:
        args._n_gpu = 1
    return args
