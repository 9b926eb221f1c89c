"""Slips that a spelling reads as another word: exchanges that need no lexicon.

"hat" may be a slip of "that", and a word of its own. Whatever it is read as, one of the two is read
wrong, unless both are written alike. How often a word is misread is found by trying: a few slips of
each kind, drawn from the word, so that they are the same wherever it is met.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from string import ascii_lowercase

from holdfast.text.spelling import KINDS, Spelling

DRAWS = 4
"""Slips of each kind that are tried of a word."""
Misread = Mapping[str, Mapping[str, float]]
"""Word to the words that its slips are read as, and how often."""


def misread(words: Iterable[str], spelling: Spelling, draws: int = DRAWS) -> Misread:
    """Return what slips of the known ones of `words` are read as, if it is another word.

    The shares of a word add up to less than one: most slips are undone, and some nobody can read.
    """
    return {word: _misread(word, spelling, draws) for word in words if spelling.knows(word)}


def _misread(word: str, spelling: Spelling, draws: int) -> Mapping[str, float]:
    drawn, found = random.Random(word), defaultdict[str, float](float)
    for slip in (slip for _ in range(draws) for slip in _one_of_each_kind(word, drawn)):
        meant = spelling.corrected(slip) or slip
        if meant != word and spelling.knows(meant):
            found[meant] += 1 / (KINDS * draws)
    return dict(found)


def _one_of_each_kind(word: str, drawn: random.Random) -> list[str]:
    """Two neighbours exchanged, a letter lost, one too many, another one; of no letter none."""
    at, beside = drawn.randrange(len(word)), drawn.randrange(len(word) + 1)
    new, other = drawn.choice(ascii_lowercase), drawn.choice(ascii_lowercase)
    found = [word[:beside] + new + word[beside:], word[:at] + other + word[at + 1 :]]
    if len(word) > 1:
        found.append(word[:at] + word[at + 1 :])
        left = drawn.randrange(len(word) - 1)
        found.append(word[:left] + word[left + 1] + word[left] + word[left + 2 :])
    return found
