"""The texts that can be made of one example: its words, and what may stand for each of them.

Such a text is a row of whole numbers, one for each position: which choice stands there. Choice 0
is the word itself, so the row of zeros is the text as it was given. Whole arrays of rows can be
hashed, looked up and turned into tokens without a Python object for each text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.record import Change
from holdfast.text import Words

Row = NDArray[np.int16]
Rows = NDArray[np.int16]

UNKNOWN = -1
"""The choice that hides a word behind a placeholder; negative, so that it is a table's last."""
DELETED = -2
"""The choice that takes a word out, with one space before it."""
HIDDEN_WORD = "[UNK]"


class Place(NamedTuple):
    """Where a word stands: the number of its text, and its number among the text's words."""

    text: int
    word: int


@dataclass(frozen=True, eq=False)
class Space:
    """One example and the choices at each of its positions."""

    texts: tuple[Words, ...]
    """The example as it was given: one text, or two of a pair."""
    places: tuple[Place, ...]
    """The positions, in reading order: every word that the victim reads and that may change."""
    choices: tuple[tuple[str, ...], ...]
    """For each position the word itself, then its substitutes; many have no substitute."""
    placeholder: str | None = None
    """What `UNKNOWN` is spelt as; none: the victim's own unknown word."""

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many choices each position has, the word itself included."""
        return np.array([len(choices) for choices in self.choices], dtype=np.int64)

    @cached_property
    def changeable(self) -> NDArray[np.int64]:
        """The positions that have a substitute."""
        return np.flatnonzero(self.sizes > 1)

    def original(self) -> Row:
        """Return the text as it was given."""
        return np.zeros(len(self), dtype=np.int16)

    def edits(self, base: Row, positions: NDArray[np.int64], choice: NDArray[np.int64]) -> Rows:
        """Return `base` once for each position, with that one choice made."""
        rows = np.repeat(base[None], len(positions), axis=0)
        rows[np.arange(len(positions)), positions] = choice
        return rows

    def swaps(self, base: Row, positions: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
        """Return every text in which one of `positions` of `base` has a substitute, and which."""
        counts = self.sizes[positions] - 1
        where = np.repeat(positions, counts)
        first = np.cumsum(counts) - counts
        choice = 1 + np.arange(len(where)) - np.repeat(first, counts)
        return self.edits(base, where, choice), where

    def spelt(self, row: Row, hidden: str = HIDDEN_WORD) -> tuple[str, ...]:
        """Return the texts of a row; `hidden` is the victim's own unknown word."""
        chosen = self._chosen(row, self.placeholder or hidden)
        return tuple(_spliced(words, chosen.get(n, {})) for n, words in enumerate(self.texts))

    def changes(self, row: Row) -> tuple[Change, ...]:
        """Return the words that a row replaces."""
        return tuple(
            Change(*self.places[at], self.choices[at][0], self.choices[at][row[at]])
            for at in np.flatnonzero(row)
        )

    def _chosen(self, row: Row, hidden: str) -> dict[int, dict[int, str | None]]:
        chosen: dict[int, dict[int, str | None]] = {}
        for at in np.flatnonzero(row):
            place = self.places[at]
            chosen.setdefault(place.text, {})[place.word] = (
                None if row[at] == DELETED else hidden if row[at] < 0 else self.choices[at][row[at]]
            )
        return chosen


def _spliced(words: Words, chosen: dict[int, str | None]) -> str:
    return "".join(_pieces(words, chosen)) if chosen else words.text


def _pieces(words: Words, chosen: dict[int, str | None]) -> Iterator[str]:
    done = 0
    for index in sorted(chosen):
        word, new = words.words[index], chosen[index]
        between = words.text[done : word.start]
        yield between if new is not None else between.removesuffix(" ")
        yield new or ""
        done = word.end
    yield words.text[done:]


def stack(rows: Sequence[Row]) -> Rows:
    """Return rows as one array."""
    return np.stack(rows).astype(np.int16, copy=False)
