"""Which gradient of a model is true: that of what it computes, not that of what it trains with.

A connection may show autograd something else than its solve: `Detached` and `Phantom` do, and an
attack that follows them goes astray. Each way to differentiate the solve is tried here against
finite differences.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from transformers import PreTrainedModel

from holdfast.adversary import attacking, look_up, run_on
from holdfast.errors import RunFailed
from holdfast.evaluate.cost import model_inputs
from holdfast.implicit import connected, unread
from holdfast.solve import Gradient, ImplicitFunction, Unrolled
from holdfast.victim import ModelVictim

_STEPS = (1e-3, 1e-2)
"""Moves of a text's vectors relative to their length. Where a model hardly answers to its inputs
the shorter one is lost in rounding, which is no fault of a gradient: the better one counts."""
_AGREES = 0.1  # relative difference of slopes up to which a gradient is taken to be true


@contextmanager
def differentiated(model: PreTrainedModel, gradient: Gradient | None) -> Iterator[None]:
    """Differentiate the solves of a connected model by `gradient` for a while.

    Its answers stay what they are: only what autograd sees behind them changes. Its readings are
    kept as they were. None, or a model without a solve: nothing changes.
    """
    handle = connected(model)
    if handle is None or gradient is None:
        yield
        return
    kept, attention = handle.connection, model.config._attn_implementation
    wanted = replace(kept, gradient=gradient)
    # fused attention cannot be differentiated twice
    switched = wanted.needs_second_order and attention != "eager"
    try:
        if switched:
            model.set_attn_implementation("eager")
        for hook in handle.hooks:
            hook.connection = wanted
        with unread(model):
            yield
    finally:
        for hook in handle.hooks:
            hook.connection = kept
        if switched:
            model.set_attn_implementation(attention)


@dataclass(frozen=True)
class TrueGradient:
    """The gradient that agrees best with what a model computes."""

    gradient: Gradient | None
    """To differentiate the solves by; none: there are none, autograd needs no help."""
    error: float
    """Relative difference of its slopes from finite differences."""
    sentence: str
    """What a reader must know of it; empty where autograd is true by itself."""


def true_gradient(victim: ModelVictim, texts: Sequence[tuple[str, ...]]) -> TrueGradient:
    """Try what the solves can be differentiated by, on a few texts."""
    handle = connected(victim.model)
    solved = handle is not None and handle.connection.scheme.weight != 0.0
    own = handle.connection.gradient if handle is not None and solved else None
    tried: list[Gradient | None] = (
        [Unrolled(), ImplicitFunction(on_failure="keep"), own] if solved else [None]
    )
    errors = [_disagreement(victim, texts, gradient) for gradient in tried]
    least = min(range(len(tried)), key=errors.__getitem__)
    sentence = _sentence(tried[least], errors[least], own, errors[-1])
    return TrueGradient(tried[least], errors[least], sentence)


def _sentence(found: Gradient | None, error: float, own: Gradient | None, own_error: float) -> str:
    name = "autograd's" if found is None else f"{type(found).__name__} through the solver"
    if error > _AGREES:
        return (
            f"No gradient of this model agrees with finite differences (the nearest, {name}, is "
            f"{_percent(error)} off): its answers jump under the smallest move of its inputs, so "
            "attacks that follow gradients say little; read those that only ask."
        )
    if own is None:
        return ""
    return (
        f"White-box attacks followed the true gradient ({name}, {_percent(error)} off finite "
        f"differences); the one it trains with, {own}, is {_percent(own_error)} off."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 10 else "more than 1000 %"


def _disagreement(
    victim: ModelVictim, texts: Sequence[tuple[str, ...]], gradient: Gradient | None
) -> float:
    """Return |slopes by autograd - slopes by differences| / |slopes by differences|."""
    with differentiated(victim.model, gradient), unread(victim.model):
        try:
            slopes = [_slopes(victim, text, number) for number, text in enumerate(texts)]
        except RunFailed:
            raise
        except RuntimeError:  # a kernel without the derivative that this gradient needs
            return torch.inf
    seen, *found = torch.tensor(slopes, dtype=torch.float64).unbind(1)
    errors = [(seen - true).norm() / true.norm().clamp_min(1e-12) for true in found]
    return min(float(error.nan_to_num(torch.inf)) for error in errors)


def _slopes(victim: ModelVictim, text: tuple[str, ...], seed: int) -> list[float]:
    """Return the slope of a logit along a random move of the token vectors.

    By autograd first, then by a difference for each step.
    """
    inputs = model_inputs(victim, [text])
    with attacking(victim.model) as inner:
        vectors = look_up(inner, inputs["input_ids"]).detach()
        drawn = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(seed))
        move = drawn.to(vectors) * (vectors.norm() / drawn.norm())

        def lead(at: torch.Tensor) -> torch.Tensor:
            logits = run_on(inner, inputs, at).logits[0].double()
            found: torch.Tensor = logits[0] - logits.mean()
            return found

        begin = vectors.clone().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(lead(begin), begin)
        with torch.no_grad():
            rises = [lead(vectors + step * move) - lead(vectors - step * move) for step in _STEPS]
    by_difference = [float(rise / (2 * step)) for rise, step in zip(rises, _STEPS, strict=True)]
    return [float((gradient * move).sum()), *by_difference]
