"""Spelling: a word that nobody knows is read as the known word one letter away.

A misspelling makes of one token several that mean nothing, which is why it hurts so much. People
read on because they know the word; here the words of the training texts are known.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

SHORTEST = 4
"""Letters of a word that is corrected: shorter ones are one letter away from too many."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Spelling:
    """Which words are known, and how often each was seen."""

    counts: Mapping[str, int] = field(repr=False, hash=False)
    """How often the training texts have a word; these are the corrections."""
    correct: frozenset[str] = field(repr=False)
    """Words that are right as they are, though training may not have seen them."""

    def corrected(self, word: str) -> str | None:
        """Return the most frequent word one letter away; none where `word` is right or has none.

        One letter away: one left out, one too many, another one, or two neighbours exchanged. Of
        words that are equally frequent the first in the alphabet is taken.
        """
        if len(word) < SHORTEST or word in self.counts or word in self.correct:
            return None
        return _nearest(self, word) if word.isalpha() else None


@lru_cache(maxsize=1 << 16)  # attackers come back to the same misspellings
def _nearest(spelling: Spelling, word: str) -> str | None:
    counts = spelling.counts
    known = {other for other in one_letter_away(word) if other in counts}
    return min(known, key=lambda other: (-counts[other], other), default=None)


def one_letter_away(word: str) -> Iterator[str]:
    """Yield every string that one slip of a letter makes of `word`, some more than once."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    for before, after in cuts:
        yield from (before + letter + after for letter in _LETTERS)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in _LETTERS)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def spelling_of(counts: Mapping[str, int], correct: Iterable[str]) -> Spelling:
    """Return the spelling of texts whose words were counted, in lower case."""
    seen = {word: count for word, count in sorted(counts.items()) if word.isalpha()}
    return Spelling(seen, frozenset(word for word in correct if word not in seen))
