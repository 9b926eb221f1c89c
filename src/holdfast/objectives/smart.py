"""SMART (Jiang et al., ACL 2020): smooth predictions, and steps that do not change them too much.

    CE(f(e; w), y) + alpha * max_delta d(f(e; w), f(e + delta; w)) + proximal * d(f(e; w), f(e; v))

d is the symmetric KL divergence. The first is the smoothness-inducing regulariser, the second the
Bregman proximal point: v follows w, v <- momentum * v + (1 - momentum) * w.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from holdfast.adversary import (
    Batch,
    L2Ball,
    LinfBall,
    ascend,
    attacking,
    inputs_of,
    look_up,
    plain,
    run_on,
    run_on_both,
)
from holdfast.errors import InputError
from holdfast.objectives.divergence import symmetric_kl
from holdfast.objectives.objective import Loss


@dataclass(frozen=True)
class Smart:
    """Cross-entropy, the smoothness-inducing regulariser and the Bregman proximal point.

    The released code lacks the second of the two, and what it calls KL is twice a difference of
    logits; this is the paper.
    """

    alpha: float = 1.0
    """Weight of the smoothness, lambda_s."""
    steps: int = 1
    """Steps of the adversary."""
    ball: L2Ball | LinfBall = LinfBall(
        radius=1e-5, step_size=1e-3, scope="token", begin="normal", begin_scale=1e-5
    )
    """Where the vectors may go; half precision does not see the paper's 1e-5. Released code divides
    the moved perturbation by its largest entry, so that each token moves by about 1, 10^5 times
    the paper's ball: `LinfBall(radius=None, step_size=1.0)` is that in effect."""
    proximal: float = 1.0
    """Weight of the proximal point, mu."""
    momentum: float = 0.99
    """How much of the average remains at a step; the paper raises it to 0.999 later in training,
    this stays."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.proximal < 0 or self.steps < 1 or not 0 <= self.momentum < 1:
            raise InputError(
                f"Smart has alpha {self.alpha}, proximal {self.proximal}, steps {self.steps} and "
                f"momentum {self.momentum}; expected the first two 0 or above, steps 1 or more "
                "and momentum in [0, 1)."
            )

    def extras(self, model: nn.Module) -> nn.Module:
        """Return the average of the weights, which begins at the weights."""
        return MovingAverage(model) if self.proximal > 0 else nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        anchor = self._anchor(model, extras, batch)
        embeds = look_up(model, batch["input_ids"])
        moved = self._neighbour(model, embeds.detach(), batch)
        vectors = self.ball.embed(moved, embeds, batch)
        clean, other = run_on_both(model, batch, embeds, vectors).logits.float().chunk(2)
        loss = functional.cross_entropy(clean, batch["labels"])
        # released code detaches the target of each of the two divergences; the paper neither
        smooth = symmetric_kl(clean, other).mean()
        near = clean.new_zeros(()) if anchor is None else symmetric_kl(clean, anchor).mean()
        total = loss + self.alpha * smooth + self.proximal * near
        parts = {"clean": loss, "smoothness": smooth, "proximal": near}
        yield Loss(total, {name: part.detach() for name, part in parts.items()})

    def _neighbour(self, model: nn.Module, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the perturbation that changes the prediction most, as the ascent finds it."""
        with attacking(model) as still:
            with torch.no_grad():
                clean = run_on(still, batch, embeds).logits
            return ascend(
                self.ball,
                lambda vectors: symmetric_kl(run_on(still, batch, vectors).logits, clean).sum(),
                embeds,
                batch,
                self.steps,
            )

    def _anchor(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Tensor | None:
        """Return the average's logits, after letting it follow the weights."""
        if self.proximal == 0:
            return None
        if not isinstance(extras, MovingAverage):
            raise InputError(
                "Smart was given no moving average of the weights to stay near; pass what its "
                "extras(model) returned, or set proximal to 0."
            )
        extras.follow(model, self.momentum)
        return extras.logits(model, batch)


class MovingAverage(nn.Module):
    """v, an average of a model's weights over the steps of its training."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.average = copy.deepcopy(plain(model)).requires_grad_(False)
        self.average.zero_grad()
        self.watched = _last_trained(model)
        self.register_buffer("seen", self._mark(model))
        self.seen: Tensor

    @torch.no_grad()
    def follow(self, model: nn.Module, momentum: float) -> None:
        """Move the average when the weights have moved, and only then.

        Once for each step of the optimizer, then, however many batches it accumulates, and
        nobody has to tell when a step was taken.
        """
        mark = self._mark(model)
        moved = (mark != self.seen).any()  # asked on the device, which need not wait for us
        self.seen.copy_(mark)
        pairs = zip(self.average.parameters(), plain(model).parameters(), strict=True)
        for average, weight in pairs:
            average.lerp_(weight, moved.to(average.dtype) * (1 - momentum))

    @torch.no_grad()
    def logits(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the model's logits with the average as its weights, without dropout.

        The model itself is run on other weights: so its connection, precision and kernels are
        the average's too.
        """
        with attacking(model) as still:
            precision = {name: weight.dtype for name, weight in still.named_parameters()}
            averages = self.average.named_parameters()
            weights = {name: average.to(precision[name]) for name, average in averages}
            logits: Tensor = functional_call(still, weights, (), inputs_of(batch)).logits
        return logits.float()

    def _mark(self, model: nn.Module) -> Tensor:
        weights = dict(plain(model).named_parameters())
        return torch.cat([weights[name].detach().flatten() for name in self.watched])


def _last_trained(model: nn.Module) -> list[str]:
    """Name the last weights that are trained, a classifier's: every step changes them."""
    trained = [name for name, weight in plain(model).named_parameters() if weight.requires_grad]
    if not trained:
        raise InputError("No weight of the model is trained; set requires_grad on those to train.")
    return trained[-2:]
