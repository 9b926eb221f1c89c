"""Where the words of a query lie among its tokens, and which tokens their choices have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Look
from holdfast.victim.reading import ID_MASK, TYPE_SHIFT
from holdfast.victim.splice import SplicedSpace, splice

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """One text as a model reads it."""

    ids: Ints
    """(tokens,)"""
    types: Ints
    """(tokens,) which text of a pair."""
    begins: Ints
    """(positions,) the first token of each word."""
    counts: Ints
    """(positions,) tokens of each word; 0 where the model does not read all of it."""
    spelt: tuple[tuple[tuple[int, ...], ...], ...]
    """For each position the tokens of each choice."""


def choice_table(sizes: Ints, fill: float) -> NDArray[np.float64]:
    """Return (positions, choices) of one value; -inf where a position has no such choice."""
    there = np.arange(int(sizes.max())) < sizes[:, None]
    return np.where(there, fill, -np.inf)


def lay_out(look: Look, max_length: int) -> Layout | None:
    """Return the layout of a text; None where its words do not have tokens of their own."""
    opened = look.opened
    if not isinstance(opened, SplicedSpace):
        return None
    flat, _ = splice([(opened, look.row[None])])
    counts, begins = _places(look, opened)
    kept = max_length - opened.tail
    if len(flat) > max_length:
        flat = np.concatenate([flat[:kept], flat[len(flat) - opened.tail :]])
    inside = begins + counts <= kept
    return Layout(
        (flat & ID_MASK).astype(np.int64),
        (flat >> TYPE_SHIFT).astype(np.int64),
        begins,
        np.where(inside, counts, 0),
        _spelt(look, opened),
    )


def _places(look: Look, opened: SplicedSpace) -> tuple[Ints, Ints]:
    """Return how many tokens each word has, and where they begin."""
    at = np.arange(len(look.space))
    pieces = np.empty(len(opened.words) + opened.others.shape[1], dtype=np.int64)
    pieces[opened.words] = opened.counts[at, look.row]
    pieces[opened.others[0]] = opened.others[2]
    begins = np.cumsum(pieces) - pieces
    return pieces[opened.words], begins[opened.words]


def _spelt(look: Look, opened: SplicedSpace) -> tuple[tuple[tuple[int, ...], ...], ...]:
    pool = opened.vocabulary.pool & ID_MASK
    found = []
    for at, choices in enumerate(look.space.choices):
        starts = opened.starts[at, : len(choices)]
        ends = starts + opened.counts[at, : len(choices)]
        slices = zip(starts, ends, strict=True)
        found.append(tuple(tuple(pool[start:end].tolist()) for start, end in slices))
    return tuple(found)
