"""Gradients of a model at the token vectors it looks up."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from holdfast.adversary import attacking, look_up, run_on
from holdfast.attack.core import Look
from holdfast.attack.gauge.layout import choice_table, lay_out
from holdfast.attack.gauge.rows import Laid, batches, model_inputs, shape_of
from holdfast.attack.goal import Floats, Targeted
from holdfast.errors import InputError
from holdfast.victim import ModelVictim
from holdfast.victim.precision import require_gradients
from holdfast.victim.two_readings import OpenedTwice

Measure = Callable[[Sequence[Look]], list[Floats]]
CHOICES = 1024  # looked up at once: one of many tokens makes room for as many in all others


def first_order(looks: Sequence[Look]) -> list[Floats]:
    """Return (positions, choices) of each text: how much the loss would grow, to first order."""
    return over_readings(_first_order, looks)


def _first_order(looks: Sequence[Look]) -> list[Floats]:
    victim, texts, found = opened(looks)
    with attacking(victim.model) as inner:
        for group, shape in batches(texts, lambda text: shape_of(victim, text)):
            batch = model_inputs(victim, group, shape)
            vectors = look_up(inner, batch["input_ids"]).detach().requires_grad_()
            with torch.enable_grad():
                value = goal_loss(inner, batch, group)(vectors)
            (gradient,) = torch.autograd.grad(value, vectors)
            for row, text in enumerate(group):
                found[text.number] = _gains(inner, text, gradient[row].float())
    return found


@torch.no_grad()
def _gains(inner: torch.nn.Module, text: Laid, gradient: Tensor) -> Floats:
    """Return (mean vector of the choice - mean vector of the word) . summed gradient."""
    layout, look = text.layout, text.look
    gains = choice_table(look.space.sizes, 0.0)
    places = [at for at, of in enumerate(layout.spelt) if len(of) > 1 and layout.counts[at]]
    if not places:
        return gains
    tokens = [tuple(layout.begins[at] + np.arange(layout.counts[at])) for at in places]
    at_tokens, there = _gathered(tokens, gradient.device)
    slopes = (gradient[at_tokens] * there).sum(1)
    means = _means(inner, [choice for at in places for choice in layout.spelt[at]])
    sizes = [len(layout.spelt[at]) for at in places]
    owners = torch.tensor(np.repeat(np.arange(len(places)), sizes), device=gradient.device)
    scores = (means * slopes[owners]).sum(1).double().cpu().numpy()
    for at, own in zip(places, np.split(scores, np.cumsum(sizes)[:-1]), strict=True):
        gains[at, : len(own)] = own - own[look.row[at]]
    return gains


def _means(inner: torch.nn.Module, choices: Sequence[tuple[int, ...]]) -> Tensor:
    """Return the mean vector of each choice; of one that has no tokens it is zero."""
    device = next(inner.parameters()).device
    found = []
    for first in range(0, len(choices), CHOICES):
        ids, there = _gathered(choices[first : first + CHOICES], device)
        found.append((look_up(inner, ids).float() * there).sum(1) / there.sum(1).clamp_min(1))
    return torch.cat(found)


def _gathered(lists: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return lists of indices as one tensor, and (lists, longest, 1) which of it are there."""
    lengths = np.array([len(one) for one in lists])
    there = np.arange(max(1, lengths.max())) < lengths[:, None]
    whole = np.zeros(there.shape, dtype=np.int64)
    whole[there] = [index for one in lists for index in one]
    return torch.from_numpy(whole).to(device), torch.from_numpy(there[..., None]).to(device)


def over_readings(measure: Measure, looks: Sequence[Look]) -> list[Floats]:
    """Return what is measured of each text; where a victim reads it twice, of both readings.

    The gradient of log(t p + (1 - t) q) is the mean of those of log p and log q, weighted by the
    share that each reading has in the probability of the goal's class.
    """
    twice = [look.opened for look in looks if isinstance(look.opened, OpenedTwice)]
    if not twice:
        return measure(looks)
    ones = measure(
        [replace(look, opened=of.canonical) for look, of in zip(looks, twice, strict=True)]
    )
    others = measure([replace(look, opened=of.own) for look, of in zip(looks, twice, strict=True)])
    shares = _shares(looks)
    return [
        # -inf, where there is no choice, stays what it is
        np.where(np.isinf(one), one, share * one + (1 - share) * np.where(np.isinf(one), 0, other))
        for one, other, share in zip(ones, others, shares, strict=True)
    ]


def _shares(looks: Sequence[Look]) -> list[float]:
    """Return how much of the probability of each goal's class is the canonical reading's."""
    victim = looks[0].victim
    assert isinstance(victim, ModelVictim)
    texts = [look.space.spelt(look.row) for look in looks]
    one, other = (victim.score_reading(reader, texts) for reader in victim.readers)
    weights = victim.blend.weights(one).tolist()
    shares = []
    for look, of_one, of_other, weight in zip(looks, one, other, weights, strict=True):
        goal = look.goal
        at = goal.target if isinstance(goal, Targeted) else look.label
        # t p / (t p + (1 - t) q), from logarithms
        less = of_other[at] - of_one[at] + math.log1p(-weight) - math.log(weight)
        shares.append(1 / (1 + math.exp(min(less, 700.0))))
    return shares


def opened(looks: Sequence[Look]) -> tuple[ModelVictim, list[Laid], list[Floats]]:
    """Return the model, the texts whose words have tokens of their own, and nothing found yet."""
    victim = looks[0].victim
    if not isinstance(victim, ModelVictim):
        raise InputError(
            "This attack follows the gradient of a model, and the victim shows none: attack a "
            "model in this process (without workers), or use an attack that only asks."
        )
    require_gradients(victim.precision)
    laid = [(look, lay_out(look, victim.max_length)) for look in looks]
    texts = [Laid(n, look, layout) for n, (look, layout) in enumerate(laid) if layout is not None]
    return victim, texts, [choice_table(look.space.sizes, 0.0) for look in looks]


def goal_loss(
    inner: torch.nn.Module, batch: dict[str, Tensor], texts: Sequence[Laid]
) -> Callable[[Tensor], Tensor]:
    """Return the log-probability of the goal, up to its sign a cross-entropy, over the texts."""
    goals = [(text.look.goal, text.look.label) for text in texts]
    towards = [(goal.target, 1.0) if isinstance(goal, Targeted) else (y, -1.0) for goal, y in goals]
    device = batch["input_ids"].device
    classes = torch.tensor([[target] for target, _ in towards], device=device)
    signs = torch.tensor([sign for _, sign in towards], device=device)

    def loss(vectors: Tensor) -> Tensor:
        logs = run_on(inner, batch, vectors).logits.float().log_softmax(1)[: len(texts)]
        found: Tensor = (logs.gather(1, classes)[:, 0] * signs).sum()
        return found

    return loss
