"""Queries put together from the tokens of their words, without a tokenizer.

WordPiece and byte-level BPE read a text word by word, so that replacing a word replaces its
tokens and no other. That is not taken on trust: for every example the tokens of all its words,
and those of a text that replaces all of them at once, are compared with the tokenizer's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.victim.keys import choice_keys
from holdfast.victim.reading import TYPE_SHIFT, TokenReading
from holdfast.victim.space import Row, Rows, Space
from holdfast.victim.victim import Query
from holdfast.victim.vocabulary import Entry, Ids, Slot, Tokens, Vocabulary

Ints = NDArray[np.int64]
Spans = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class SplicedSpace:
    """A text as a row of pieces: words, of which there are choices, and what stands between."""

    space: Space
    keys: NDArray[np.uint64]
    vocabulary: Vocabulary
    """Holds the tokens of the words."""
    starts: Ints
    """(positions, choices) where in its pool; `DELETED` and `UNKNOWN` are the last columns."""
    counts: Ints
    """(positions, choices) how many tokens."""
    words: Ints
    """(positions,) which piece of the text is that word."""
    between: Tokens
    """The tokens between words, one piece behind the other."""
    others: Ints
    """(3, pieces): of each such piece its number in the text, its start, how many tokens."""
    tail: int
    whole: NDArray[np.bool_] | None = None
    """(positions, choices) that may change more than the tokens of their word: a text with one of
    them is tokenised as a whole; none: there is no such choice."""
    longest: int | None = None
    """Texts of more tokens are tokenised as a whole, too; none: of any number they are spliced."""

    def left_whole(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which texts have to be tokenised as a whole."""
        at = np.arange(rows.shape[1])
        found = np.zeros(len(rows), dtype=np.bool_)
        if self.whole is not None:
            found |= np.any(self.whole[at, rows], axis=1)
        if self.longest is not None:
            lengths = self.counts[at, rows].sum(axis=1) + self.others[2].sum()
            found |= lengths > self.longest
        return found


def token_spans(reading: TokenReading, space: Space) -> Spans | None:
    """Return the tokens of each position as a range; None if some have none of their own."""
    spans: Spans = []
    end = 0
    for number, word in space.places:
        tokens = reading.aligned[number][word]
        if not tokens.exact or tokens.positions[0] < end:
            return None
        start, end = tokens.positions[0], tokens.positions[-1] + 1
        if end - start != len(tokens.positions):
            return None
        spans.append((start, end))
    return spans or None


def slots(reading: TokenReading, space: Space, spans: Spans, hidden: str) -> list[Slot]:
    """Return what the tokens at each position depend on."""
    found = []
    for (number, index), (start, _), choices in zip(
        space.places, spans, space.choices, strict=True
    ):
        words = reading.words[number]
        at = words.words[index].start
        kind = reading.tokens[start] >> TYPE_SHIFT << TYPE_SHIFT
        found.append(Slot(words.text[max(0, at - 1) : at], kind, choices, hidden))
    return found


def spliced_space(
    reading: TokenReading,
    space: Space,
    spans: Spans,
    vocabulary: Vocabulary,
    hidden: str,
    keep: int,
    whole: NDArray[np.bool_] | None = None,
    longest: int | None = None,
) -> SplicedSpace | None:
    """Return a space that can be spliced; None where words do not have tokens of their own.

    Of what follows the last position no more than `keep` tokens can ever be read. A position whose
    span is empty has no tokens: all its choices are among those of `whole`.
    """
    entries = [vocabulary.of(slot) for slot in slots(reading, space, spans, hidden)]
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries) or any(
        start < end and entry.original != reading.tokens[start:end]
        for entry, (start, end) in zip(known, spans, strict=True)
    ):
        return None
    starts, counts, seen = _table(known)
    counts[[start == end for start, end in spans]] = 0
    if whole is not None:  # what is read from its characters may differ from all others
        seen = np.where(whole, whole.shape[1] + np.arange(whole.shape[1]), seen)
    between = list(_between(reading, spans, keep))
    lengths = np.array([len(ids) for ids in between], dtype=np.int64)
    filled = lengths > 0
    order = np.cumsum(filled) + np.arange(len(filled))  # the number of the word after each of them
    others = np.stack([order - 1, np.cumsum(lengths) - lengths, lengths])[:, filled]
    tokens = np.array([i for ids in between for i in ids], dtype=np.int32)
    pieces = (starts, counts, order[:-1], tokens, others)
    return SplicedSpace(space, choice_keys(seen), vocabulary, *pieces, reading.tail, whole, longest)


def _table(entries: Sequence[Entry]) -> Ints:
    """Return (3, positions, choices); the deleted word and the hidden one are the last columns."""
    columns = max(entry.table.shape[1] for entry in entries)
    table = np.zeros((3, len(entries), columns), dtype=np.int64)
    for at, entry in enumerate(entries):
        choices = entry.table.shape[1] - 2
        table[:, at, :choices] = entry.table[:, :choices]
        table[:, at, columns - 2 :] = entry.table[:, choices:]
    return table


def _between(reading: TokenReading, spans: Spans, keep: int) -> Iterator[Ids]:
    """Yield the tokens before the first position, between each two, and after the last."""
    end = 0
    for start, following in spans:
        yield reading.tokens[end:start]
        end = following
    last = reading.tokens[end:]
    cut = len(last) - reading.tail
    yield last if cut <= keep else last[:keep] + last[cut:]


def splice(queries: Sequence[tuple[SplicedSpace, Rows]]) -> tuple[Tokens, Ints]:
    """Return the tokens of all rows, one behind the other, and the length of each row."""
    vocabulary = queries[0][0].vocabulary.pool
    offset = len(vocabulary)
    starts: list[Ints] = []
    counts: list[Ints] = []
    lengths: list[Ints] = []
    for opened, rows in queries:
        at = np.arange(rows.shape[1])
        pieces = (len(rows), len(opened.words) + opened.others.shape[1])
        start, count = np.empty(pieces, np.int64), np.empty(pieces, np.int64)
        start[:, opened.words], count[:, opened.words] = (
            opened.starts[at, rows],
            opened.counts[at, rows],
        )
        where, begins, long = opened.others
        start[:, where], count[:, where] = begins + offset, long
        starts.append(start.ravel())
        counts.append(count.ravel())
        lengths.append(count.sum(axis=1))
        offset += len(opened.between)
    pool = np.concatenate([vocabulary, *(opened.between for opened, _ in queries)])
    many = np.concatenate(counts)
    begins = np.concatenate(starts) - (np.cumsum(many) - many)
    everything = np.repeat(begins, many) + np.arange(many.sum())
    return pool[everything], np.concatenate(lengths)


def parted(query: Query) -> tuple[Query | None, Query | None]:
    """Return the texts of a query that can be spliced, and those to be tokenised as a whole."""
    opened, rows = query.opened, query.rows
    if not isinstance(opened, SplicedSpace):
        return None, query
    whole = opened.left_whole(rows)
    if not whole.any():
        return query, None
    spliced, rest = (Query(opened, rows[of], query.tickets[of]) for of in (~whole, whole))
    return spliced if len(spliced.rows) else None, rest if len(rest.rows) else None


def trial_row(opened: SplicedSpace) -> Row:
    """Return a text that splices every word that can be, by its first or last choice."""
    last = opened.space.sizes - 1
    at = np.arange(len(last))
    chosen = np.where(at % 2 == 0, last, np.minimum(1, last)).astype(np.int16)
    return chosen if opened.whole is None else np.where(opened.whole[at, chosen], 0, chosen)
