"""Pre-trained weight decay: weights decay to where they came from instead of to zero."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.anchors.anchor import Attached, OptimizerChoice
from holdfast.anchors.pulled import Pull, PulledAdamW, pulled_choice
from holdfast.anchors.reference import Reference
from holdfast.solve.settings import require_at_least, require_one_of
from holdfast.solve.solution import at_least_float32

Kind = Literal["norm", "decoupled"]

_INSIDE_ROOT = 1e-10  # as released; the slope of the root stays finite at the pre-trained weights


class DecayedAdamW(PulledAdamW):
    """AdamW that also moves weights by lr * strength * (w - w0) towards their origin."""

    def pull(self, step: int) -> Pull:
        """Return the same pull at every step."""
        return Pull(task=1.0, home=self.strength)


@dataclass(frozen=True)
class PretrainedDecay:
    """RIFT's baseline Adv-PTWD, and its decoupled form.

    With w the weights of the base model and w0 the pre-trained ones:
    norm       adds strength * |w - w0| to the loss, un-squared: a pull of constant size;
    decoupled  moves w by lr * strength * (w - w0) at each step, past Adam's scaling, as AdamW does
               with ordinary decay.
    """

    strength: float = 0.01
    """The paper's lambda: 0.01 on IMDB, 0.005 on SNLI."""
    kind: Kind = "norm"
    """Where the decay acts: in the loss (norm) or in the optimizer (decoupled)."""

    def __post_init__(self) -> None:
        """Refuse settings that are no decay."""
        require_at_least(0, self, "strength")
        require_one_of(get_args(Kind), self, "kind")

    def attach(self, model: PreTrainedModel, reference: Reference) -> Attached:
        """Leave the forward pass alone."""
        return Attached()

    def penalty(self, model: PreTrainedModel, reference: Reference) -> Tensor | None:
        """Return strength * |w - w0|, or nothing if the optimizer does the work.

        The paper prints lambda * |w - w0|_2 and the released code agrees: the norm itself. Much
        of the literature squares it, which pulls less near the start and more far away.
        """
        if self.kind != "norm":
            return None
        squares = [
            (at_least_float32(parameter) - at_least_float32(value)).square().sum()
            for _, parameter, value in reference.pairs(model)
        ]
        return self.strength * (_INSIDE_ROOT + torch.stack(squares).sum()).sqrt()

    def optimizer(
        self, usual: OptimizerChoice, model: PreTrainedModel, reference: Reference
    ) -> OptimizerChoice:
        """Return AdamW with the decoupled decay, or the usual optimizer for the norm."""
        if self.kind == "norm":
            return usual
        return pulled_choice(self, DecayedAdamW, usual, model, reference, strength=self.strength)
