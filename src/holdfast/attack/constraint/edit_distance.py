"""At most so many letters are changed in all."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from holdfast.attack.core import Comparison, Verdict
from holdfast.errors import InputError


@dataclass(frozen=True)
class EditDistance:
    """Adds up the Levenshtein distances of the words that were replaced."""

    most: int
    """Letters inserted, deleted or substituted; two that swap places count twice."""

    def __post_init__(self) -> None:
        if self.most < 1:
            raise InputError(f"At most {self.most} edits were allowed; expected 1 or more.")

    @property
    def against_original(self) -> bool:
        """Always."""
        return True

    def judge(self, comparisons: Sequence[Comparison]) -> Sequence[Verdict]:
        """Allow the texts with few enough edits."""
        return [self._judge(comparison) for comparison in comparisons]

    def _judge(self, comparison: Comparison) -> Verdict:
        space, rows = comparison.space, comparison.rows
        edits = np.zeros(len(rows), dtype=np.int64)
        for row, at in zip(*np.nonzero(rows), strict=True):
            edits[row] += levenshtein(space.choices[at][0], space.choices[at][rows[row, at]])
        return Verdict(edits <= self.most)


@lru_cache(maxsize=100_000)
def levenshtein(one: str, other: str) -> int:
    """Return how many letters must be inserted, deleted or substituted."""
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        left = [row]
        for column, wanted in enumerate(other, start=1):
            kept = above[column - 1] + (letter != wanted)
            left.append(min(kept, above[column] + 1, left[-1] + 1))
        above = left
    return above[-1]
