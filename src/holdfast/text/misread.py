"""Slips that a spelling reads as another word: exchanges that need no lexicon.

"hat" may be a slip of "that", and a word of its own. Whatever it is read as, one of the two is read
wrong, unless both are written alike. How often a word is read as another one,

    P(w | v) = sum of P(slip | v) over the slips of v that are read as w,

is summed over all single slips: two neighbours exchanged, a letter lost, one too many, another one;
each kind as likely as the others, and within a kind each place and each letter.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from string import ascii_lowercase
from types import MappingProxyType

from holdfast.text.spelling import HIDING, KINDS
from holdfast.text.spelling_index import SpellingIndex

MOST = 5_000
"""Words whose slips are looked at, the most frequent: rarer ones are not slipped in often enough
for that to show, and each takes milliseconds."""
KINDS_OF_A_LETTER = 2
"""Of slips of a word that has one letter: none is left to lose or to exchange."""
Misread = Mapping[str, Mapping[str, float]]
"""Word to the words that its slips are read as, and P(w | v)."""
NONE: Misread = MappingProxyType({})


def misread(counts: Mapping[str, int], index: SpellingIndex, most: int = MOST) -> Misread:
    """Return what slips of the words that were counted are read as, where it is another word.

    Slips that are undone, or that nobody can read, are missing from a word's P.
    """
    spelling = index.spelling
    known = (word for word in counts if spelling.corrects(word) and spelling.knows(word))
    frequent = sorted(known, key=lambda word: (-counts[word], word))[:most]
    return {word: _misread(word, index) for word in frequent}


def _misread(word: str, index: SpellingIndex) -> Mapping[str, float]:
    slips, found = defaultdict[str, float](float), defaultdict[str, float](float)
    for slip, chance in slips_of(word):
        slips[slip] += chance  # two ways to lose one of two like letters
    for slip, chance in slips.items():
        meant = index.read(slip)
        if meant is not None and meant != word and meant not in HIDING:
            found[meant] += chance
    return dict(found)


def slips_of(word: str) -> Iterator[tuple[str, float]]:
    """Yield the slips of a word and P(slip | word)."""
    size, letters = len(word), len(ascii_lowercase)
    kinds = KINDS if size > 1 else KINDS_OF_A_LETTER
    for at in range(size + 1):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at:], 1 / (kinds * letters * (size + 1))
            if at < size and letter != word[at]:
                yield word[:at] + letter + word[at + 1 :], 1 / (kinds * (letters - 1) * size)
    if size > 1:
        for at in range(size):
            yield word[:at] + word[at + 1 :], 1 / (kinds * size)
        for at in range(size - 1):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1 / (kinds * (size - 1))
