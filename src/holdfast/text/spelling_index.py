"""Known words by what is left of them: reads what `Spelling` reads, many times as fast.

`Spelling` tries the hundreds of words that a slip may have been, which needs nothing beforehand and
is quick enough for a text. Here the known words are sorted first, by the letters that are left when
one is lost or hidden, so that only those are met that there are: for whole lexicons.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from holdfast.text.spelling import Spelling, chances

Near = Mapping[str, list[str]]


class SpellingIndex:
    """The known words of a spelling."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling

    @cached_property
    def lost(self) -> Near:
        """Return what is left of words when a letter is lost, and the words."""
        found: dict[str, list[str]] = defaultdict(list)
        for word in self.spelling.counts:
            for at in range(len(word)):
                found[word[:at] + word[at + 1 :]].append(word)
        return found

    @cached_property
    def hidden(self) -> Near:
        """Return words with a letter hidden, and the words."""
        found: dict[str, list[str]] = defaultdict(list)
        for word in self.spelling.counts:
            for at in range(len(word)):
                found[_hidden(word, at)].append(word)
        return found

    def read(self, word: str) -> str | None:
        """Return the known word that a word is read as, often itself; None: nobody knows."""
        spelling = self.spelling
        if not spelling.corrects(word) or spelling.takes_as_it_is(word):
            return word if spelling.knows(word) else None
        return spelling.likeliest(word, self._before(word))

    def _before(self, slip: str) -> Iterator[tuple[str, float]]:
        """Yield those of `holdfast.text.spelling.slips` that are known, and some that are not."""
        chance = chances(len(slip))
        yield from ((word, chance.lost) for word in self.lost.get(slip, ()))
        for at in range(len(slip)):
            yield slip[:at] + slip[at + 1 :], chance.added
            yield from ((word, chance.other) for word in self.hidden.get(_hidden(slip, at), ()))
        for at in range(len(slip) - 1):
            yield slip[:at] + slip[at + 1] + slip[at] + slip[at + 2 :], chance.exchanged


def _hidden(word: str, at: int) -> str:
    return f"{word[:at]}?{word[at + 1 :]}"
