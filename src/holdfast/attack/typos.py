"""Substitutes that are misspellings of a word: one or several of each kind, always the same.

The papers draw the letter that is hit at random. Here it is drawn from the word itself, so that a
word has the same misspellings wherever and whenever it is attacked.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Literal

from holdfast.attack.core import Substitutes
from holdfast.errors import InputError
from holdfast.text import Words

Kind = Literal["swap", "substitute", "delete", "insert", "space", "lookalike"]

# a character that looks like it (TextBugger's o, l and a, and the usual others), or is beside it
_LOOKALIKES = dict(zip("olaiestgbmnuvOLAIESTGBMNUV", "01@13$798nmvu01@13$798NMVU", strict=True))


@dataclass(frozen=True)
class Typos:
    """Misspellings of a word."""

    kinds: tuple[Kind, ...]
    """swap: two neighbouring letters; substitute, insert: another letter; delete; space: the word
    in two; lookalike: a letter by a character that looks like it."""
    each: int | None = 1
    """Misspellings of each kind at most; none: all there are."""
    ends: bool = True
    """Whether the first and the last letter may be hit."""

    def __post_init__(self) -> None:
        if not self.kinds or (self.each is not None and self.each < 1):
            raise InputError("Misspellings are of one kind at least, and 1 or more of each.")

    def substitutes(self, text: Words) -> Substitutes:
        """Return the misspellings of each word of a text."""
        return [_misspelt(self, word.text) for word in text.words]


@lru_cache(maxsize=100_000)
def _misspelt(typos: Typos, word: str) -> tuple[str, ...]:
    found: list[str] = []
    for kind in typos.kinds:
        inner = range(len(word)) if typos.ends else range(1, len(word) - 1)
        versions = dict.fromkeys(v for v in _KINDS[kind](word, inner) if v and v != word)
        found += sorted(versions, key=_drawn)[: typos.each]
    return tuple(dict.fromkeys(found))


def _drawn(word: str) -> bytes:
    """Return a key in whose order words are as if drawn at random."""
    return hashlib.sha256(word.encode()).digest()


def _swap(word: str, inner: range) -> Iterator[str]:
    for at in inner[:-1]:
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _substitute(word: str, inner: range) -> Iterator[str]:
    for at in inner:
        yield from (word[:at] + letter + word[at + 1 :] for letter in ascii_lowercase)


def _delete(word: str, inner: range) -> Iterator[str]:
    yield from (word[:at] + word[at + 1 :] for at in inner)


def _insert(word: str, inner: range) -> Iterator[str]:
    for at in inner:
        yield from (word[:at] + letter + word[at:] for letter in ascii_lowercase)


def _space(word: str, inner: range) -> Iterator[str]:
    yield from (f"{word[:at]} {word[at:]}" for at in range(1, len(word)))


def _lookalike(word: str, inner: range) -> Iterator[str]:
    for at in inner:
        if word[at] in _LOOKALIKES:
            yield word[:at] + _LOOKALIKES[word[at]] + word[at + 1 :]


_KINDS: dict[str, Callable[[str, range], Iterator[str]]] = {
    "swap": _swap,
    "substitute": _substitute,
    "delete": _delete,
    "insert": _insert,
    "space": _space,
    "lookalike": _lookalike,
}
