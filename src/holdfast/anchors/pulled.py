"""AdamW that also pulls the weights of the base model towards their pre-trained values."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.anchors.anchor import OptimizerChoice
from holdfast.anchors.reference import Reference
from holdfast.errors import InputError

_PULLED, _STEPS = "pulled", "pulled_steps"  # in parameter groups, so saved and resumed with them


@dataclass(frozen=True)
class Pull:
    """What one step does to a weight w: w -= task * (Adam's step) + lr * home * (w - w0)."""

    task: float
    home: float


class PulledAdamW(torch.optim.AdamW, ABC):
    """AdamW over weights of which some have a pre-trained value to be pulled to.

    Groups that mix both kinds of weights are cut in two; the others get plain AdamW.
    """

    def __init__(
        self, params: Any, *, home: Mapping[nn.Parameter, Tensor], strength: float, **settings: Any
    ) -> None:
        """Take what AdamW takes, and the pre-trained values; these are no part of the state."""
        self.home, self.strength = home, strength
        super().__init__(params, **settings)

    @abstractmethod
    def pull(self, step: int) -> Pull:
        """Return the pull of a step, counted from 1 and on over a resume."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, cut into weights that are pulled and others."""
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        sides: dict[bool, list[Any]] = {True: [], False: []}
        for entry in params:
            parameter = entry[1] if isinstance(entry, tuple) else entry  # (name, parameter)
            sides[parameter in self.home].append(entry)
        for pulled, side in sides.items():
            if side or (not params and not pulled):
                added = {**param_group, "params": side, _PULLED: pulled, _STEPS: 0}
                super().add_param_group(added)
                self._refuse_overshoot(self.param_groups[-1])

    def _refuse_overshoot(self, group: dict[str, Any]) -> None:
        rate = float(group["lr"])
        if group[_PULLED] and rate * self.strength > 1:
            raise InputError(
                f"A learning rate of {rate} times an anchor's strength of {self.strength} is above "
                f"1, so that each step leaps past the pre-trained weights; lower one of them."
            )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step: ordinary decay, the pull, then the task's share of Adam's step.

        Adam's step does not look at w, so with no ordinary decay both terms are taken from the
        same w. Its length is proportional to lr, which is how the task's share is given to it.
        """
        loss = _evaluate(closure)
        pulled = [group for group in self.param_groups if group[_PULLED]]
        usual = [(group["lr"], group["weight_decay"]) for group in pulled]
        for group in pulled:
            group[_STEPS] += 1
            pull = self.pull(group[_STEPS])
            self._move(group, pull.home)
            group["lr"], group["weight_decay"] = group["lr"] * pull.task, 0.0
        try:
            super().step()
        finally:
            for group, (rate, decay) in zip(pulled, usual, strict=True):
                group["lr"], group["weight_decay"] = rate, decay
        return loss

    def _move(self, group: dict[str, Any], strength: float) -> None:
        rate = float(group["lr"])
        for parameter in group["params"]:
            if parameter.grad is not None:  # AdamW leaves the others alone, ordinary decay as well
                parameter.mul_(1 - rate * group["weight_decay"])
                parameter.lerp_(self.home[parameter], rate * strength)


def _evaluate(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def pulled_choice(
    anchor: object,
    chosen: type[PulledAdamW],
    usual: OptimizerChoice,
    model: PreTrainedModel,
    reference: Reference,
    **own: float,
) -> OptimizerChoice:
    """Return `chosen` with the settings of the usual AdamW and its own; refuse any other."""
    kind, settings = usual
    if kind is not torch.optim.AdamW:
        raise InputError(
            f"{type(anchor).__name__} is a form of torch's AdamW, but the optimizer is "
            f"{kind.__name__}; choose adamw_torch, or another anchor."
        )
    home = {parameter: value for _, parameter, value in reference.pairs(model)}
    return chosen, {**settings, "home": home, **own}
