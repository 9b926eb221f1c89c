"""Word vectors: how near two words are, and which words are near."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import VectorFile
from holdfast.errors import InputError
from holdfast.text import Words, is_one_word, like

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The vectors of words in lower case."""

    numbers: dict[str, int]
    """The row of each word."""
    words: tuple[str, ...]
    rows: Vectors
    """(words, width)"""
    unit: Vectors
    """The same, each of length 1."""

    def cosine(self, one: str, other: str) -> float | None:
        """Return the cosine of two words; None if one of them has no vector."""
        a, b = self.numbers.get(one.lower()), self.numbers.get(other.lower())
        return None if a is None or b is None else float(self.unit[a] @ self.unit[b])

    def squared_distance(self, one: str, other: str) -> float | None:
        """Return the squared distance of two words; None if one of them has no vector."""
        a, b = self.numbers.get(one.lower()), self.numbers.get(other.lower())
        return None if a is None or b is None else float(((self.rows[a] - self.rows[b]) ** 2).sum())

    def nearest(self, word: str, limit: int, cosine: float) -> tuple[str, ...]:
        """Return the words of at least this cosine, the nearest first."""
        own = self.numbers.get(word.lower())
        if own is None:
            return ()
        cosines = self.unit @ self.unit[own]
        cosines[own] = -np.inf
        near = np.flatnonzero(cosines >= cosine)  # few of them: only these are put in order
        order = near[np.argsort(-cosines[near], kind="stable")][:limit]
        return tuple(self.words[at] for at in order)


@lru_cache(maxsize=2)
def read_vectors(file: VectorFile) -> WordVectors:
    """Read word vectors; a first line that only tells their number and width is passed over."""
    found: dict[str, Vectors] = {}
    width = None
    with file.source.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            width = width or len(numbers)
            try:
                vector = np.array(numbers, dtype=np.float32)
            except ValueError:
                vector = np.empty(0, dtype=np.float32)
            if len(vector) != width or not np.isfinite(vector).all():
                raise InputError(
                    f"{file.source}, line {number}, is no word with its {width} numbers; expected "
                    "word vectors as GloVe writes them."
                )
            found.setdefault(word.lower(), vector)
    if not found:
        raise InputError(f"{file.source} holds no word vector; expected some.")
    rows = np.stack(list(found.values()))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.maximum(lengths, 1e-12)
    return WordVectors({word: at for at, word in enumerate(found)}, tuple(found), rows, unit)


@dataclass(frozen=True)
class VectorNeighbours:
    """The words whose vectors are nearest."""

    vectors: VectorFile
    limit: int = 50
    """Substitutes a word has at most."""
    cosine: float = 0.5
    """Of a substitute with the word, at least."""

    def __post_init__(self) -> None:
        if self.limit < 1 or not -1 <= self.cosine <= 1:
            raise InputError(
                f"{self.limit} neighbours of a cosine of {self.cosine} were asked for; expected 1 "
                "or more, within -1 and 1."
            )

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        return [
            tuple(like(word.text, new) for new in _nearest(self, word.text.lower()))
            for word in text.words
        ]


@lru_cache(maxsize=50_000)
def _nearest(neighbours: VectorNeighbours, word: str) -> tuple[str, ...]:
    found = read_vectors(neighbours.vectors).nearest(word, neighbours.limit, neighbours.cosine)
    return tuple(filter(is_one_word, found))
