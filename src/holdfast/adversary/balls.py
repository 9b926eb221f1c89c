"""Norm balls: each token vector, or the vectors of an example together, moves so far."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from holdfast.adversary.batch import Batch, movable
from holdfast.errors import InputError
from holdfast.solve.settings import require_one_of

Scope = Literal["example", "token"]
Start = Literal["zero", "uniform", "normal"]

_TINY = 1e-8  # below this a gradient has no direction


@dataclass(frozen=True)
class L2Ball:
    """Perturbations whose Euclidean norm is at most `radius`, by normalised gradient ascent."""

    radius: float | None = 0.1
    """Largest norm; none: no projection."""
    step_size: float = 0.1
    """Length of a step."""
    scope: Scope = "example"
    """Whether the norm is one of all vectors of an example, or each token has its own."""
    begin: Start = "zero"
    """Where the ascent begins."""
    begin_scale: float = 0.0
    """Size of a random start: half-width of the uniform, deviation of the normal distribution."""
    begin_shared: bool = False
    """Divide the start by the root of the example's number of entries, as FreeLB does."""

    def __post_init__(self) -> None:
        _check(self)

    def start(self, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the first perturbation, inside the ball."""
        noise = _noise(self.begin, self.begin_scale, embeds) * movable(batch)
        if self.begin_shared:
            entries = movable(batch).sum(dim=(1, 2), keepdim=True) * embeds.shape[2]
            noise = noise / entries.clamp_min(1).sqrt()
        return self.project(noise)

    def embed(self, state: Tensor, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the vectors moved by the perturbation."""
        return embeds + (state * movable(batch)).to(embeds.dtype)

    def step(self, state: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Return delta + step * g / |g|, projected."""
        gradient = gradient.float() * movable(batch)
        direction = gradient / _l2(gradient, self.scope).clamp_min(_TINY)
        return self.project(state + self.step_size * direction)

    def project(self, state: Tensor) -> Tensor:
        """Return the nearest point of the ball."""
        if self.radius is None:
            return state
        return state * (self.radius / _l2(state, self.scope).clamp_min(_TINY)).clamp_max(1.0)


@dataclass(frozen=True)
class LinfBall:
    """Perturbations whose entries are at most `radius`, by normalised gradient ascent."""

    radius: float | None = 1e-5
    """Largest entry; none: no projection."""
    step_size: float = 1e-3
    """Largest entry of a step."""
    scope: Scope = "token"
    """Whether the gradient is divided by the largest entry of the example, or of each token."""
    begin: Start = "normal"
    """Where the ascent begins."""
    begin_scale: float = 1e-5
    """Size of a random start: half-width of the uniform, deviation of the normal distribution."""

    def __post_init__(self) -> None:
        _check(self)

    def start(self, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the first perturbation, inside the ball."""
        return self.project(_noise(self.begin, self.begin_scale, embeds) * movable(batch))

    def embed(self, state: Tensor, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the vectors moved by the perturbation."""
        return embeds + (state * movable(batch)).to(embeds.dtype)

    def step(self, state: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Return delta + step * g / max |g|, projected."""
        gradient = gradient.float() * movable(batch)
        over = (1, 2) if self.scope == "example" else (2,)
        largest = gradient.abs().amax(dim=over, keepdim=True)
        return self.project(state + self.step_size * gradient / largest.clamp_min(_TINY))

    def project(self, state: Tensor) -> Tensor:
        """Return the nearest point of the ball."""
        return state if self.radius is None else state.clamp(-self.radius, self.radius)


def _noise(begin: Start, scale: float, embeds: Tensor) -> Tensor:
    zero = torch.zeros_like(embeds, dtype=torch.float32)
    match begin:
        case "zero":
            return zero
        case "uniform":
            return zero.uniform_(-1, 1) * scale
        case "normal":
            return zero.normal_() * scale


def _l2(state: Tensor, scope: Scope) -> Tensor:
    over = (1, 2) if scope == "example" else (2,)
    norm: Tensor = torch.linalg.vector_norm(state.float(), dim=over, keepdim=True)
    return norm


def _check(ball: L2Ball | LinfBall) -> None:
    require_one_of(get_args(Scope), ball, "scope")
    require_one_of(get_args(Start), ball, "begin")
    radius, step_size, scale = ball.radius, ball.step_size, ball.begin_scale
    if (radius is not None and radius <= 0) or step_size <= 0 or scale < 0:
        raise InputError(
            f"A ball has radius {radius}, step_size {step_size} and begin_scale {scale}; "
            "expected the first two above 0 (or no radius) and the last 0 or above."
        )
    if ball.begin != "zero" and scale == 0:
        raise InputError(
            f'A ball has begin "{ball.begin}" and begin_scale 0, which is no random start; give '
            'begin_scale a size, or begin at "zero".'
        )
