"""Spelling: a word is read as the known word that was most likely meant.

A misspelling makes of one token several that mean nothing, which is why it hurts so much. People
read on because they know the word. Here the words of the training texts are known, and those the
tokenizer has a token for. This is the noisy channel of spelling correctors (Kernighan, Church and
Gale, 1990) with a single slip:

    argmax over w of  P(w) P(word | w),   P(w) ~ count of w + 1/2,

    P(word | w) = 1 - misspelt for w itself, else misspelt P(slip | w) / kinds of slips.

Who expects nobody to misspell (`misspelt` = 0) takes every known word for right. An attacker does
misspell, and many of his slips are known words, too: rare ones, beside the frequent one he hit.
Slips are those of the letters a to z: words with others are left alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

SHORTEST = 3
"""Letters of a word that is corrected where known words are right: shorter ones are one letter away
from too many, and only how likely a slip is at all can tell."""
HIDING = frozenset({"unk", "oov", "mask", "null"})
"""Never corrected: "[UNK]" and its like stand where a word is hidden, and mean no word."""
HALF = 0.5
"""Of a count, for words that were not seen."""
KINDS = 4
"""Of slips."""
REMEMBERED = 1 << 17
"""Words of which it is kept what was meant."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BEGINS = ("Ġ", "▁")  # how tokenizers mark the token that begins a word
_GOES_ON = "##"


@dataclass(frozen=True)
class Spelling:
    """Which words are known, and how often each was seen."""

    counts: Mapping[str, int] = field(repr=False, hash=False)
    """How often the training texts have a word; 0: it is right, though they do not have it."""
    misspelt: float = 0.0
    """Share of words that are expected to be slips; 0: none of those that are known."""
    _read: dict[str, str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Words and what was meant: texts and attackers come back to the same ones."""

    def corrected(self, word: str) -> str | None:
        """Return the word that was most likely meant; none: the word itself, or nobody knows.

        Of words that are equally likely the first in the alphabet is taken.
        """
        if not self.corrects(word) or self.takes_as_it_is(word):
            return None
        if word not in self._read:
            if len(self._read) == REMEMBERED:
                self._read.clear()
            self._read[word] = self.likeliest(word, slips(word))
        meant = self._read[word]
        return None if meant == word else meant

    def corrects(self, word: str) -> bool:
        """Whether it looks at such words at all."""
        return word not in HIDING and word.isalpha() and word.isascii()

    def takes_as_it_is(self, word: str) -> bool:
        """Whether a word is right, or too short to tell, because nobody is expected to misspell."""
        return self.misspelt == 0 and (len(word) < SHORTEST or self.knows(word))

    def knows(self, word: str) -> bool:
        """Whether a word is one."""
        return word in self.counts

    def weight(self, word: str) -> float:
        """Return how likely a known word is, beside others."""
        return self.counts[word] + HALF

    def likeliest(self, word: str, before: Iterable[tuple[str, float]]) -> str | None:
        """Return the likeliest of the known words that `word` may have been `before` a slip.

        Or the word itself, where known ones may be right; none: there is no such word.
        """
        scores: dict[str, float] = {}
        for meant, chance in before:
            if meant != word and self.knows(meant):
                score = self.weight(meant) * chance / KINDS
                scores[meant] = scores.get(meant, 0.0) + score  # one of two like letters is lost
        if self.misspelt and self.knows(word):
            scores[word] = self.weight(word) * (1 - self.misspelt) / self.misspelt
        return min(scores, key=lambda meant: (-scores[meant], meant), default=None)


class Chances(NamedTuple):
    """P(slip | word) of each kind, but for that of the kind, by the letters of the slip."""

    lost: float
    """A letter of the word; it has one letter more than the slip."""
    added: float
    """To the word; a letter of 26 in one of the slip's places."""
    other: float
    """Letter in the place of the word's."""
    exchanged: float
    """Two neighbours."""


def chances(size: int) -> Chances:
    """Return how likely a slip of so many letters is, by its kind."""
    letters = len(_LETTERS)
    exchanged = 1 / (size - 1) if size > 1 else 0.0
    return Chances(1 / (size + 1), 1 / (letters * size), 1 / ((letters - 1) * size), exchanged)


def slips(word: str) -> Iterator[tuple[str, float]]:
    """Yield what `word` may have been before one slip, and P(slip | that word).

    Two neighbours exchanged, a letter lost, one too many, another one: each kind is as likely as
    the others, and within a kind each place and each letter. So a word that an exchange explains is
    likelier than one of the many that another letter explains.
    """
    chance = chances(len(word))
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        for letter in _LETTERS:
            yield before + letter + after, chance.lost
        if after:
            yield before + after[1:], chance.added
            for letter in _LETTERS:
                yield before + letter + after[1:], chance.other
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:], chance.exchanged


def spelling_of(
    counts: Mapping[str, int], correct: Iterable[str], misspelt: float = 0.0
) -> Spelling:
    """Return the spelling of texts whose words were counted, and of other words that are known."""
    known = dict.fromkeys(correct, 0) | dict(counts)
    return Spelling({word: known[word] for word in sorted(known) if word.isalpha()}, misspelt)


def whole_words(vocabulary: Iterable[str], shortest: int = SHORTEST) -> frozenset[str]:
    """Return the words that a tokenizer reads as one token, in lower case."""
    tokens = list(vocabulary)
    marked = [token[1:] for token in tokens if token.startswith(_BEGINS)]
    whole = marked or [token for token in tokens if not token.startswith(_GOES_ON)]
    return frozenset(word.lower() for word in whole if word.isalpha() and len(word) >= shortest)
