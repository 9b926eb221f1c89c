"""RecAdam: the pull to the pre-trained weights fades out while the task's loss fades in."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from holdfast.anchors.anchor import Attached, OptimizerChoice
from holdfast.anchors.pulled import Pull, PulledAdamW, pulled_choice
from holdfast.anchors.reference import Reference
from holdfast.errors import InputError
from holdfast.solve.settings import require_at_least


class RecAdamW(PulledAdamW):
    """w -= share * (Adam's step) + lr * (1 - share) * strength * (w - w0), base model only.

    The released code measures w - w0 after Adam's step and takes ordinary decay last; here Adam's
    step comes last. It also adds eps before Adam's correction of the second moment, torch after.
    """

    def __init__(self, params: Any, *, rate: float, midpoint: int, **settings: Any) -> None:
        """Take what `PulledAdamW` takes, and when the task's share rises."""
        self.rate, self.midpoint = rate, midpoint
        super().__init__(params, **settings)

    def pull(self, step: int) -> Pull:
        """Return the pull of a step, counted from 1 as in the released code."""
        share = task_share(step, self.rate, self.midpoint)
        return Pull(task=share, home=(1 - share) * self.strength)


def task_share(step: int, rate: float, midpoint: int) -> float:
    """Return sigmoid(rate * (step - midpoint)), by a form that never overflows."""
    return 0.5 * (1 + math.tanh(rate * (step - midpoint) / 2))


@dataclass(frozen=True)
class RecAdam:
    """Recall and learn: each step mixes Adam's step with a pull to the pre-trained weights.

    Heads have no pre-trained weights and get plain Adam from the first step on. In a run much
    shorter than `midpoint` steps the base model hardly moves.
    """

    rate: float = 0.5
    """How steeply the task's share rises, k; the authors tried 0.05 to 1."""
    midpoint: int = 250
    """Step at which task and pull have equal shares, t0; the authors tried 100 to 1000."""
    strength: float = 5000.0
    """Strength of the pull; times the learning rate it must stay below 1."""

    def __post_init__(self) -> None:
        """Refuse settings that make no schedule."""
        require_at_least(0, self, "midpoint", "strength")
        if not 0 < self.rate < math.inf:
            raise InputError(f"RecAdam.rate is {self.rate}; expected a number above 0.")

    def attach(self, model: PreTrainedModel, reference: Reference) -> Attached:
        """Leave the forward pass alone."""
        return Attached()

    def penalty(self, model: PreTrainedModel, reference: Reference) -> Tensor | None:
        """Leave the loss alone."""
        return None

    def optimizer(
        self, usual: OptimizerChoice, model: PreTrainedModel, reference: Reference
    ) -> OptimizerChoice:
        """Return `RecAdamW` with the settings of the usual AdamW."""
        own = {"rate": self.rate, "midpoint": self.midpoint, "strength": self.strength}
        return pulled_choice(self, RecAdamW, usual, model, reference, **own)
