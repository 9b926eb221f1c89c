"""Queries put together from the tokens of their words, without a tokenizer.

WordPiece and byte-level BPE read a text word by word, so that replacing a word replaces its
tokens and no other. That is not taken on trust: for every example the tokens of all its words,
and of two texts that replace all of them at once, are compared with the tokenizer's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.victim.keys import choice_keys
from holdfast.victim.lanes import Tokens
from holdfast.victim.reading import TYPE_SHIFT, TokenReading
from holdfast.victim.space import Place, Rows, Space
from holdfast.victim.vocabulary import Ids, Speller, Spelling, Vocabulary


@dataclass(frozen=True, eq=False)
class SplicedSpace:
    """For each (position, choice) the tokens from that word up to the next position."""

    space: Space
    keys: NDArray[np.uint64]
    pool: Tokens
    starts: NDArray[np.int64]
    """(positions, choices) where in the pool; `DELETED` and `UNKNOWN` are the last columns."""
    counts: NDArray[np.int64]
    """(positions, choices) how many tokens."""
    tail: int


def spellings(reading: TokenReading, space: Space, spell: Speller) -> Iterator[Spelling]:
    """Yield everything whose tokens a table for the space needs."""
    for place, choices in zip(space.places, space.choices, strict=True):
        left = _left(reading, place)
        for word in (*choices, spell.hidden(space)):
            yield Spelling(left, spell(word))


def splice_table(
    reading: TokenReading, space: Space, vocabulary: Vocabulary, spell: Speller, keep: int
) -> SplicedSpace | None:
    """Return the table of a space; None where words do not have tokens of their own.

    Of what follows the last position no more than `keep` tokens can ever be read.
    """
    spans = _spans(reading, space)
    if spans is None:
        return None
    gaps, hidden = _gaps(reading, spans, keep), spell.hidden(space)
    table: list[list[Ids]] = []
    for place, span, choices in zip(space.places, spans, space.choices, strict=True):
        left, kind = _left(reading, place), reading.tokens[span[0]] >> TYPE_SHIFT << TYPE_SHIFT
        found = [vocabulary.of(Spelling(left, spell(word))) for word in (*choices, hidden)]
        ids = [tuple(i | kind for i in tokens) for tokens in found if tokens is not None]
        if len(ids) < len(found) or ids[0] != reading.tokens[span[0] : span[1]]:
            return None
        table.append([*ids[:-1], (), ids[-1]])  # the deleted word and the hidden one come last
    return _assembled(space, table, reading.tokens[: spans[0][0]], gaps, reading.tail)


def _left(reading: TokenReading, place: Place) -> str:
    words = reading.words[place.text]
    start = words.words[place.word].start
    return words.text[start - 1 : start]


def _spans(reading: TokenReading, space: Space) -> list[tuple[int, int]] | None:
    """Return the tokens of each position as a range; None if some have none of their own."""
    spans: list[tuple[int, int]] = []
    end = 0
    for place in space.places:
        tokens = reading.aligned[place.text][place.word]
        if not tokens.exact or tokens.positions[0] < end:
            return None
        start, end = tokens.positions[0], tokens.positions[-1] + 1
        if end - start != len(tokens.positions):
            return None
        spans.append((start, end))
    return spans or None


def _gaps(reading: TokenReading, spans: Sequence[tuple[int, int]], keep: int) -> list[Ids]:
    """Return the tokens between each position and the next; those after the last are cut."""
    following = [start for start, _ in spans[1:]] + [len(reading.tokens)]
    gaps = [reading.tokens[span[1] : end] for span, end in zip(spans, following, strict=True)]
    if len(gaps[-1]) > keep + reading.tail:
        gaps[-1] = gaps[-1][:keep] + gaps[-1][len(gaps[-1]) - reading.tail :]
    return gaps


def _assembled(
    space: Space, table: list[list[Ids]], prefix: Ids, gaps: list[Ids], tail: int
) -> SplicedSpace:
    columns = max(map(len, table))
    pool: list[int] = []
    shape = (len(table), columns)
    starts, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    seen = np.zeros(shape, np.int64)
    for at, choices in enumerate(table):
        before = prefix if at == 0 else ()
        numbers: dict[Ids, tuple[int, int]] = {}
        for column, ids in enumerate(choices):
            where = column if column < len(choices) - 2 else columns - len(choices) + column
            if ids not in numbers:
                numbers[ids] = (len(numbers), len(pool))
                pool += (*before, *ids, *gaps[at])
            seen[at, where], starts[at, where] = numbers[ids]
            counts[at, where] = len(before) + len(ids) + len(gaps[at])
    tokens = np.array(pool, dtype=np.int32)
    return SplicedSpace(space, choice_keys(seen), tokens, starts, counts, tail)


def splice(
    queries: Sequence[tuple[SplicedSpace, Rows]],
) -> tuple[Tokens, NDArray[np.int64]]:
    """Return the tokens of all rows, one behind the other, and the length of each row."""
    starts: list[NDArray[np.int64]] = []
    counts: list[NDArray[np.int64]] = []
    lengths: list[NDArray[np.int64]] = []
    offset = 0
    for opened, rows in queries:
        at = np.arange(rows.shape[1])
        count = opened.counts[at, rows]
        starts.append((opened.starts[at, rows] + offset).ravel())
        counts.append(count.ravel())
        lengths.append(count.sum(axis=1))
        offset += len(opened.pool)
    pool = np.concatenate([opened.pool for opened, _ in queries])
    pieces = np.concatenate(counts)
    begins = np.concatenate(starts) - (np.cumsum(pieces) - pieces)
    where = np.repeat(begins, pieces) + np.arange(pieces.sum())
    return pool[where], np.concatenate(lengths)


def trial_rows(space: Space) -> Rows:
    """Return two texts that replace every word that can be replaced."""
    last = space.sizes - 1
    even = np.arange(len(space)) % 2 == 0
    trials = [np.where(even, last, np.minimum(1, last)), np.where(even, np.minimum(1, last), last)]
    return np.stack(trials).astype(np.int16)
