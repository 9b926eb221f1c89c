"""Gradients of a model at the token vectors it looks up."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from holdfast.adversary import ConvexHull, ascend, attacking, look_up, run_on
from holdfast.adversary.hull import with_candidate_vectors
from holdfast.attack.core import Look
from holdfast.attack.gauge.layout import Layout, choice_table, lay_out
from holdfast.attack.goal import Floats, Targeted
from holdfast.errors import InputError
from holdfast.victim import ModelVictim


def first_order(look: Look) -> Floats:
    """Return (positions, choices): how much the loss would grow, to first order."""
    victim = _model(look)
    layout = lay_out(look, victim.max_length)
    if layout is None:
        return choice_table(look.space.sizes, 0.0)
    with attacking(victim.model) as inner:
        batch = _batch(victim, layout)
        vectors = look_up(inner, batch["input_ids"]).detach().requires_grad_()
        with torch.enable_grad():
            value = _loss(inner, batch, look)(vectors)
        (gradient,) = torch.autograd.grad(value, vectors)
        return _gains(inner, layout, look, gradient[0].float())


@torch.no_grad()
def _gains(inner: torch.nn.Module, layout: Layout, look: Look, gradient: Tensor) -> Floats:
    """Return (mean vector of the choice - mean vector of the word) . summed gradient."""
    gains = choice_table(look.space.sizes, 0.0)
    for at, choices in enumerate(layout.spelt):
        count = int(layout.counts[at])
        if len(choices) == 1 or not count:
            continue
        slope = gradient[layout.begins[at] : layout.begins[at] + count].sum(0)
        means = torch.stack([_mean(inner, ids, slope) for ids in choices])
        scores = (means @ slope).double().cpu().numpy()
        gains[at, : len(choices)] = scores - scores[look.row[at]]
    return gains


def _mean(inner: torch.nn.Module, ids: tuple[int, ...], like: Tensor) -> Tensor:
    if not ids:  # a substitute that the tokenizer makes nothing of
        return torch.zeros_like(like)
    return look_up(inner, torch.tensor([ids], device=like.device))[0].float().mean(0)


def hull_weights(look: Look, steps: int, seed: int) -> Floats:
    """Return (positions, choices): the weights at the end of the ascent, 1 on words that stay."""
    victim = _model(look)
    layout = lay_out(look, victim.max_length)
    if layout is None:
        return choice_table(look.space.sizes, 0.0)
    single = [_single(layout, at, look) for at in range(len(look.space))]
    hull = ConvexHull()
    devices = [victim.model.device] if victim.model.device.type == "cuda" else []
    with attacking(victim.model) as inner, torch.random.fork_rng(devices), torch.no_grad():
        torch.manual_seed(seed)
        batch = with_candidate_vectors(inner, _with_candidates(victim, layout, single))
        embeds = look_up(inner, batch["input_ids"])
        state = ascend(hull, _loss(inner, batch, look), embeds, batch, steps)
        weights = hull.weights(state, batch)[0].double().cpu().numpy()
    found = choice_table(look.space.sizes, 0.0)
    for at, choices in enumerate(single):
        if len(choices) > 1:
            found[at, choices] = weights[layout.begins[at], : len(choices)]
        else:
            found[at, look.row[at]] = 1.0
    return found


def _single(layout: Layout, at: int, look: Look) -> list[int]:
    """Return the choices at a position that can be mixed, the one that stands there first."""
    now = int(look.row[at])
    if layout.counts[at] != 1:
        return [now]
    of_one_token = [n for n, ids in enumerate(layout.spelt[at]) if len(ids) == 1 and n != now]
    return [now, *of_one_token]


def _with_candidates(
    victim: ModelVictim, layout: Layout, single: list[list[int]]
) -> dict[str, Tensor]:
    slots = max(map(len, single))
    candidates = np.repeat(layout.ids[:, None], slots, axis=1)
    mask = np.zeros(candidates.shape, dtype=np.bool_)
    mask[:, 0] = True
    for at, choices in enumerate(single):
        token = layout.begins[at]
        if len(choices) > 1:
            candidates[token, : len(choices)] = [layout.spelt[at][n][0] for n in choices]
            mask[token, : len(choices)] = True
    device = victim.model.device
    return _batch(victim, layout) | {
        "candidates": torch.from_numpy(candidates)[None].to(device),
        "candidate_mask": torch.from_numpy(mask)[None].to(device),
    }


def _batch(victim: ModelVictim, layout: Layout) -> dict[str, Tensor]:
    device = victim.model.device
    ids = torch.from_numpy(layout.ids)[None].to(device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if "token_type_ids" in victim.tokenizer.model_input_names:
        batch["token_type_ids"] = torch.from_numpy(layout.types)[None].to(device)
    return batch


def _loss(inner: torch.nn.Module, batch: dict[str, Tensor], look: Look) -> Callable[..., Tensor]:
    """Return the log-probability of the goal, up to its sign a cross-entropy."""

    def loss(vectors: Tensor) -> Tensor:
        logs: Tensor = run_on(inner, batch, vectors).logits.float().log_softmax(1)[0]
        if isinstance(look.goal, Targeted):
            return logs[look.goal.target]
        return -logs[look.label]

    return loss


def _model(look: Look) -> ModelVictim:
    if not isinstance(look.victim, ModelVictim):
        raise InputError(
            "This attack follows the gradient of a model, and the victim shows none: attack a "
            "model in this process (without workers), or use an attack that only asks."
        )
    return look.victim
