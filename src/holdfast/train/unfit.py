"""What a trainer cannot do with its objective, said before the first step."""

from typing import TYPE_CHECKING

from holdfast.adversary.embedded import token_embedding
from holdfast.errors import InputError
from holdfast.train import extras as beside
from holdfast.train.columns import labels_of
from holdfast.train.sampler import ClassBalancedSampler, check_batch

if TYPE_CHECKING:
    from holdfast.train.trainer import RobustTrainer

NOT_CLASSES = ("multi_label_classification", "regression")
"""Values of a configuration's problem_type for which the labels are no classes."""


def refuse_unfit(trainer: "RobustTrainer") -> None:
    """Refuse settings under which the objective would not be what is trained."""
    _refuse_arguments(trainer)
    _refuse_model(trainer)
    _refuse_sharding(trainer)
    _refuse_data(trainer)
    _refuse_anchor(trainer)


def _refuse_arguments(trainer: "RobustTrainer") -> None:
    if trainer.args.label_smoothing_factor != 0:
        raise InputError(
            "label_smoothing_factor changes Trainer's own loss, and the loss here is "
            f"{_name(trainer)}; leave it at 0."
        )
    if trainer.anchor is not None and trainer.optimizer is not None:
        raise InputError(
            "An anchor may need an optimizer of its own, and a ready-made one was given; leave "
            "`optimizers` out."
        )


def _refuse_model(trainer: "RobustTrainer") -> None:
    config = trainer.plain_model.config
    if config.problem_type in NOT_CLASSES:
        raise InputError(
            f"The model has the problem_type {config.problem_type!r}, and {_name(trainer)} needs "
            "texts of one class each; load it with problem_type='single_label_classification'."
        )
    if config.num_labels == 1:
        raise InputError(
            f"The model has one output, which is regression, and {_name(trainer)} needs classes; "
            "load it with num_labels of 2 or more."
        )
    if trainer.objective.moves or trainer.objective.substitutes:
        token_embedding(trainer.plain_model)


def _refuse_sharding(trainer: "RobustTrainer") -> None:
    sharded = trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled
    if trainer.anchor is not None and sharded:
        raise InputError(
            "An anchor needs every weight whole in each process, and DeepSpeed and FSDP share "
            "them out; use DDP."
        )
    perturbs = trainer.objective.moves or trainer.objective.substitutes or trainer.check is not None
    if perturbs and trainer.is_fsdp_enabled:
        raise InputError(
            f"{_name(trainer)}, or the check of its robustness, looks token vectors up outside the "
            "model's forward, where FSDP has shared them out; use DDP."
        )
    several = trainer.objective.passes > 1 or beside.trainable(trainer.extras)
    if trainer.is_deepspeed_enabled and several:
        raise InputError(
            "DeepSpeed takes an optimizer step after every backward and knows only the model, so "
            f"{_name(trainer)} cannot run under it; use DDP."
        )


def _refuse_data(trainer: "RobustTrainer") -> None:
    if trainer.objective.class_conditional and trainer.train_dataset is not None:
        sampler = ClassBalancedSampler(labels_of(trainer.train_dataset), seed=0)
        check_batch(trainer.args.per_device_train_batch_size, sampler.classes)


def _refuse_anchor(trainer: "RobustTrainer") -> None:
    """Try the anchor's optimizer on one weight: it refuses a learning rate that is too high."""
    if trainer.anchor is not None:
        kind, settings = trainer.optimizer_choice()
        kind([next(trainer.plain_model.base_model.parameters())], **settings)


def _name(trainer: "RobustTrainer") -> str:
    return type(trainer.objective).__name__
