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
from holdfast.attack.gauge.inside import goal_loss, opened, over_readings
from holdfast.attack.gauge.layout import Ints, choice_table
from holdfast.attack.gauge.rows import Laid, Shape, batches, filled, model_inputs, shape_of
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
    """Return (positions, choices): the weights at the end of the ascent, 1 on words that stay.

    Where a text is read twice each reading has an ascent of its own; the weights are their mean.
    """
    return over_readings(lambda of: _hull_weights(of, steps), looks)


def _hull_weights(looks: Sequence[Look], steps: int) -> list[Floats]:
    victim, texts, found = opened(looks)
    mixed = {text.number: _mixed(text) for text in texts}
    device = victim.model.device
    devices = [device] if device.type == "cuda" else []

    def shape_for(text: Laid) -> Shape:
        return shape_of(victim, text, slots=mixed[text.number].candidates.shape[1])

    with attacking(victim.model) as inner, torch.random.fork_rng(devices), torch.no_grad():
        for group, shape in batches(texts, shape_for):
            own = [mixed[text.number] for text in group]
            batch = with_candidate_vectors(inner, _inputs(victim, own, shape))
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


def _inputs(victim: ModelVictim, mixed: Sequence[Mixed], of: Shape) -> dict[str, Tensor]:
    shape = (of.rows, of.width, of.slots)
    mask = filled([one.mask for one in mixed], shape)
    mask[:, :, 0] = True  # padding, too, is what it is
    return model_inputs(victim, [one.text for one in mixed], of) | {
        CANDIDATES: filled([one.candidates for one in mixed], shape).to(victim.model.device),
        CANDIDATE_MASK: mask.to(victim.model.device),
    }


def _start(mixed: Sequence[Mixed], batch: dict[str, Tensor]) -> Tensor:
    """Return where the ascents begin: each where it would begin alone."""
    mask = batch[CANDIDATE_MASK]
    whole = torch.zeros(*mask.shape, 4, device=mask.device)
    for row, one in enumerate(mixed):
        tokens, slots = one.mask.shape
        own = (slice(row, row + 1), slice(tokens), slice(slots))
        alone = {name: batch[name][own] for name in (CANDIDATES, CANDIDATE_MASK)}
        torch.manual_seed(one.text.look.seed)
        whole[row, :tokens, :slots] = HULL.start(mask, alone)[0]
    return whole


def _table(mixed: Mixed, weights: Floats) -> Floats:
    look, begins = mixed.text.look, mixed.text.layout.begins
    found = choice_table(look.space.sizes, 0.0)
    for at, choices in enumerate(mixed.choices):
        if len(choices) > 1:
            found[at, choices] = weights[begins[at], : len(choices)]
        else:
            found[at, look.row[at]] = 1.0
    return found
