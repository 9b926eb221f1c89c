"""An ascent in mixtures of each word with its choices, for several texts at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from holdfast.adversary import ConvexHull, ascend, attacking, look_up
from holdfast.adversary.batch import CANDIDATE_MASK, CANDIDATES
from holdfast.adversary.hull import with_candidate_vectors
from holdfast.attack.core import Look
from holdfast.attack.gauge.inside import goal_loss, opened
from holdfast.attack.gauge.layout import Ints, choice_table
from holdfast.attack.gauge.rows import (
    SLOTS,
    Laid,
    batches,
    filled,
    model_inputs,
    rounded,
    rows_at_once,
    width_of,
)
from holdfast.attack.goal import Floats
from holdfast.victim import ModelVictim

HULL = ConvexHull()


class Mixed(NamedTuple):
    """What of a text is mixed."""

    text: Laid
    choices: list[list[int]]
    """Of each position, the one that stands there first."""
    candidates: Ints
    """(tokens, slots)"""
    mask: NDArray[np.bool_]
    """(tokens, slots) which of them are there."""


def hull_weights(looks: Sequence[Look], steps: int) -> list[Floats]:
    """Return (positions, choices): the weights at the end of the ascent, 1 on words that stay."""
    victim, texts, found = opened(looks)
    mixed = {text.number: _mixed(text) for text in texts}
    rows, device = rows_at_once(victim), victim.model.device

    def shape(text: Laid) -> tuple[int, ...]:
        slots = mixed[text.number].candidates.shape[1]
        return width_of(text, rows), rounded(slots, SLOTS, rows)

    devices = [device] if device.type == "cuda" else []
    with attacking(victim.model) as inner, torch.random.fork_rng(devices), torch.no_grad():
        for group, (width, slots) in batches(texts, rows, shape):
            own = [mixed[text.number] for text in group]
            batch = with_candidate_vectors(inner, _inputs(victim, own, (rows, width, slots)))
            embeds, loss = look_up(inner, batch["input_ids"]), goal_loss(inner, batch, group)
            state = ascend(HULL, loss, embeds, batch, steps, start=_start(own, batch))
            weights = HULL.weights(state, batch).double().cpu().numpy()
            for one, weight in zip(own, weights, strict=False):  # rows beyond them only fill
                found[one.text.number] = _table(one, weight)
    return found


def _mixed(text: Laid) -> Mixed:
    layout = text.layout
    choices = [_single(text, at) for at in range(len(text.look.space))]
    slots = max(map(len, choices))
    candidates = np.repeat(layout.ids[:, None], slots, axis=1)
    mask = np.zeros(candidates.shape, dtype=np.bool_)
    mask[:, 0] = True
    for at, of in enumerate(choices):
        token = layout.begins[at]
        if len(of) > 1:
            candidates[token, : len(of)] = [layout.spelt[at][n][0] for n in of]
            mask[token, : len(of)] = True
    return Mixed(text, choices, candidates, mask)


def _single(text: Laid, at: int) -> list[int]:
    """Return the choices at a position that can be mixed, the one that stands there first."""
    now = int(text.look.row[at])
    if text.layout.counts[at] != 1:
        return [now]
    spelt = enumerate(text.layout.spelt[at])
    return [now, *(n for n, ids in spelt if len(ids) == 1 and n != now)]


def _inputs(
    victim: ModelVictim, mixed: Sequence[Mixed], shape: tuple[int, int, int]
) -> dict[str, Tensor]:
    rows, width, _ = shape
    mask = filled([one.mask for one in mixed], shape)
    mask[:, :, 0] = True  # padding, too, is what it is
    return model_inputs(victim, [one.text for one in mixed], rows, width) | {
        CANDIDATES: filled([one.candidates for one in mixed], shape).to(victim.model.device),
        CANDIDATE_MASK: mask.to(victim.model.device),
    }


def _start(mixed: Sequence[Mixed], batch: dict[str, Tensor]) -> Tensor:
    """Return where the ascents begin: each where it would begin alone."""
    mask = batch[CANDIDATE_MASK]
    whole = torch.zeros(*mask.shape, 4, device=mask.device)
    for row, one in enumerate(mixed):
        tokens, slots = one.mask.shape
        alone = {name: batch[name][row : row + 1, :tokens, :slots] for name in _MIXED}
        torch.manual_seed(one.text.look.seed)
        whole[row, :tokens, :slots] = HULL.start(mask, alone)[0]
    return whole


_MIXED = (CANDIDATES, CANDIDATE_MASK)


def _table(mixed: Mixed, weights: Floats) -> Floats:
    look, begins = mixed.text.look, mixed.text.layout.begins
    found = choice_table(look.space.sizes, 0.0)
    for at, choices in enumerate(mixed.choices):
        if len(choices) > 1:
            found[at, choices] = weights[begins[at], : len(choices)]
        else:
            found[at, look.row[at]] = 1.0
    return found
