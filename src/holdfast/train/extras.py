"""What an objective trains or keeps beside the model, treated as Trainer treats the model.

Trainer wraps, zeroes, clips and saves the model only; a head of the objective is not in it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from accelerate.utils import broadcast  # type: ignore[import-untyped]
from safetensors.torch import load_model, save_model
from torch import nn
from transformers import TrainerCallback

FILE = "extras.safetensors"


def trainable(extras: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that join the optimizer."""
    return [parameter for parameter in extras.parameters() if parameter.requires_grad]


def join_optimizer(extras: nn.Module, optimizer: torch.optim.Optimizer, decay: float) -> None:
    """Add the trainable parameters to the optimizer, unless they are in it already."""
    known = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = [parameter for parameter in trainable(extras) if id(parameter) not in known]
    if missing:
        optimizer.add_param_group({"params": missing, "weight_decay": decay})


def make_equal(extras: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the values of the first, as DDP does with the model."""
    if accelerator.num_processes > 1:
        broadcast(list(extras.state_dict().values()))


def average_gradients(extras: nn.Module, accelerator: Accelerator) -> None:
    """Average the gradients over the processes; called once a step, after the last backward."""
    if accelerator.num_processes == 1:
        return
    for parameter in trainable(extras):
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        parameter.grad = accelerator.reduce(gradient, reduction="mean")


class ZeroExtras(TrainerCallback):
    """Forgets the gradients of the extras after each step; Trainer does so for the model."""

    def __init__(self, extras: Callable[[], nn.Module]) -> None:
        """Ask for the extras at each step: a new model brings new ones."""
        self.extras = extras

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Forget them."""
        self.extras().zero_grad()


def save_extras(extras: nn.Module, folder: Path) -> None:
    """Save the extras in a checkpoint, if there are any."""
    if extras.state_dict():
        save_model(extras, str(folder / FILE))


def load_extras(extras: nn.Module, folder: Path) -> None:
    """Restore what `save_extras` saved."""
    if extras.state_dict():
        load_model(extras, folder / FILE)
