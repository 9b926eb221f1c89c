"""How far hidden states move under an attack, against random words in as many places.

For each layer the relative move is |s(changed) - s(original)| / |s(original)|, mean over the
successful attacks. The changed text may have another number of tokens, so s is no matrix of all
tokens but one vector: the mean over the real tokens, and the state of one token, the first one
(of decoders the last, which alone has read the whole text).
"""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.attack import Attack
from holdfast.attack.run import example_rng
from holdfast.attack.spaces import build_space
from holdfast.evaluate.cost import model_inputs
from holdfast.implicit import FAMILIES
from holdfast.implicit.capture import LayerRecord, capture_layers, twin
from holdfast.record import Outcome, Series
from holdfast.text import Words
from holdfast.victim import ModelVictim, Space, Victim

FIRST, LAST = "first token", "last token"
_DECODERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
_TOGETHER = 16  # texts of a forward pass


def moves(
    victim: Victim, outcomes: Iterable[Outcome], attack: Attack, *, seed: int, most: int = 200
) -> tuple[Series, ...]:
    """Return `moved_attack` and `moved_random` over the layers, layer 0 being the embeddings.

    Those without a group are of the mean over tokens, the others of one token. `attack` is the
    one that made the outcomes: the random words are drawn from the substitutes it had, one draw
    for each of the first `most` successes; its constraints on whole texts are not put to them.
    Nothing where no attack succeeded, and for a victim without a model, of a family whose layers
    are not known, or that reads a text twice.
    """
    won = list(islice((o for o in outcomes if o.status == "succeeded"), most))
    if not won or not isinstance(victim, ModelVictim):
        return ()
    if victim.model.config.model_type not in FAMILIES or len(victim.readers) > 1:
        return ()
    model = twin(victim.model)
    original = _states(victim, model, [outcome.texts for outcome in won])
    changed = _states(victim, model, [outcome.adversarial or () for outcome in won])
    drawn = _states(victim, model, _at_random(victim, won, attack, seed))
    groups = ("", LAST if _is_decoder(model) else FIRST)
    return tuple(
        _series(name, group, original[:, at], states[:, at])
        for at, group in enumerate(groups)
        for name, states in (("moved_attack", changed), ("moved_random", drawn))
    )


def _series(name: str, group: str, original: Tensor, changed: Tensor) -> Series:
    """Return the mean relative move; both are (texts, layers, hidden)."""
    lengths = original.norm(dim=2).clamp_min(torch.finfo(original.dtype).tiny)
    moved = ((changed - original).norm(dim=2) / lengths).mean(0).tolist()
    return Series(name, tuple(map(float, range(len(moved)))), tuple(moved), group)


def _at_random(
    victim: ModelVictim, won: Sequence[Outcome], attack: Attack, seed: int
) -> list[tuple[str, ...]]:
    """Return each text with as many words replaced at random as the attack replaced."""
    texts = [tuple(map(Words.of, outcome.texts)) for outcome in won]
    readings = victim.read(texts)
    return [
        _drawn(
            build_space(attack, words, reading.visible),
            len(outcome.changes),
            example_rng(seed, outcome.id),
        )
        for outcome, words, reading in zip(won, texts, readings, strict=True)
    ]


def _drawn(space: Space, count: int, rng: np.random.Generator) -> tuple[str, ...]:
    row = space.original()
    for at in rng.choice(space.changeable, min(count, len(space.changeable)), replace=False):
        row[at] = rng.integers(1, space.sizes[at])
    return space.spelt(row)


def _is_decoder(model: PreTrainedModel) -> bool:
    return model.config.model_type in _DECODERS


def _states(
    victim: ModelVictim, model: PreTrainedModel, texts: Sequence[tuple[str, ...]]
) -> Tensor:
    """Return (texts, 2, layers + 1, hidden) on the CPU: pooled states, and those of one token."""
    found = []
    for at in range(0, len(texts), _TOGETHER):
        inputs = model_inputs(victim, texts[at : at + _TOGETHER])
        records = capture_layers(model, inputs)
        states = [(records[0], records[0].before), *((r, r.after) for r in records)]
        last = inputs["attention_mask"].sum(1) - 1
        read = last if _is_decoder(model) else torch.zeros_like(last)
        found.append(torch.stack([_pooled(*state, read) for state in states], dim=2).cpu())
    return torch.cat(found)


def _pooled(record: LayerRecord, states: Tensor, read: Tensor) -> Tensor:
    """Return (texts, 2, hidden): the mean over real tokens, and the token that is read."""
    rows = torch.arange(len(states), device=states.device)
    one, states = states[rows, read].float(), record.masked(states).float()
    count = states.shape[1] if record.real is None else record.real.sum(1)
    return torch.stack([states.sum(1) / count, one], dim=1)
