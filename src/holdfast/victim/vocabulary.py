"""The tokens of words as they stand in a text: asked for once, then remembered."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.text import CanonicalMap, Words
from holdfast.victim.space import HIDDEN_WORD, Space

Ids = tuple[int, ...]
Tokens = NDArray[np.int32]
Look = Callable[[Sequence[tuple[str, str]]], list[Ids | None]]
"""The tokens of words, each with the character before it; None where it has none of its own."""


class Speller:
    """How words are written before they are tokenised: as they are, or in canonical form."""

    def __init__(self, canonical: CanonicalMap | None, hidden: str | None) -> None:
        self._canonical = canonical
        self._hidden = hidden or HIDDEN_WORD
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Return a word as it is tokenised."""
        if self._canonical is None:
            return word
        if word not in self._known:
            self._known[word] = self._canonical.apply(word).text
        return self._known[word]

    def words(self, text: Words) -> Words:
        """Return a text as it is tokenised; every word keeps its number."""
        if self._canonical is None:
            return text
        return text.replaced({at: self(word.text) for at, word in enumerate(text.words)})

    def text(self, text: str) -> str:
        """Return a whole text as it is tokenised."""
        return text if self._canonical is None else self._canonical.apply(text).text

    def hidden(self, space: Space) -> str:
        """Return the word that hides others."""
        return space.placeholder or self._hidden


class Slot(NamedTuple):
    """A position as far as its tokens depend on it."""

    left: str
    """The character before the word, which decides about a leading space; "" at the start."""
    kind: int
    """The type of the tokens there, above their ids."""
    choices: tuple[str, ...]
    hidden: str


@dataclass(frozen=True, eq=False)
class Entry:
    """The tokens of each choice of a slot; the deleted word and the hidden one come last."""

    original: Ids
    """Those of the word itself."""
    table: NDArray[np.int64]
    """(3, choices): where they begin in the pool, how many they are, and a number for what they
    are: equal numbers, equal tokens."""


class Vocabulary:
    """All tokens of words that were ever asked for, in one pool."""

    def __init__(self, look: Look, spell: Speller) -> None:
        self._look, self._spell = look, spell
        self._ids: dict[tuple[str, str], Ids | None] = {}
        self._entries: dict[Slot, Entry | None] = {}
        self._begins: dict[Ids, int] = {}
        self._pool = np.zeros(1024, dtype=np.int32)
        self._used = 0

    @property
    def pool(self) -> Tokens:
        """The tokens that entries point to."""
        return self._pool[: self._used]

    def learn(self, slots: Iterable[Slot]) -> None:
        """Ask for all that is new, at once."""
        new = [slot for slot in dict.fromkeys(slots) if slot not in self._entries]
        self._learn_words(dict.fromkeys(word for slot in new for word in self._words(slot)))
        for slot in new:
            self._entries[slot] = self._entry(slot)

    def of(self, slot: Slot) -> Entry | None:
        """Return a slot that was learnt; None where words share tokens with what is around."""
        return self._entries[slot]

    def _words(self, slot: Slot) -> list[tuple[str, str]]:
        return [(slot.left, self._spell(word)) for word in (*slot.choices, slot.hidden)]

    def _learn_words(self, words: Iterable[tuple[str, str]]) -> None:
        new = [word for word in words if word not in self._ids]
        if new:
            self._ids.update(zip(new, self._look(new), strict=True))

    def _entry(self, slot: Slot) -> Entry | None:
        found = [self._ids[word] for word in self._words(slot)]
        ids = [tuple(i | slot.kind for i in own) for own in found if own is not None]
        if len(ids) < len(found):
            return None
        columns = [*ids[:-1], (), ids[-1]]
        numbers: dict[Ids, int] = {}
        table = [
            (self._begin(own), len(own), numbers.setdefault(own, len(numbers))) for own in columns
        ]
        return Entry(ids[0], np.array(table, dtype=np.int64).T)

    def _begin(self, ids: Ids) -> int:
        if ids not in self._begins:
            self._begins[ids] = self._append(ids)
        return self._begins[ids]

    def _append(self, ids: Sequence[int]) -> int:
        begin, end = self._used, self._used + len(ids)
        if end > len(self._pool):
            self._pool = np.concatenate([self._pool, np.zeros(end, dtype=np.int32)])
        self._pool[begin:end] = ids
        self._used = end
        return begin
