"""Groups of words that are written as one: many exchanges are hidden, and little is lost.

An attacker who writes w for v, one of its substitutes N(v), has changed nothing where both are in
one group. Each group that is made costs information: texts say less once v and w are the same. So
groups are joined two at a time, always the two that hide most for what they cost,

    hidden(A, B) = sum of n(v) E(v, w) over v in A and w in B, and over v in B and w in A
    cost(A, B)   = f(n(A) + n(B)) - f(n(A)) - f(n(B)),    f(n) = n log n

until none hides `least` for a nat. n(v) is how often the training texts have v, and a half; E(v, w)
how often who attacks v writes w: 1 / |N(v)| for each substitute of one who exchanges words, and, if
slips are hidden too, P(w | v) for one who misspells (`holdfast.text.misread`). So hidden counts
exchanges, and cost the fall of the words' entropy, in nats of all texts. Two frequent groups cost
much and rare words next to nothing, so that no group swallows the lexicon, as the connected parts
of it would. Clusters for the same trade are made by Jones et al., "Robust Encodings" (ACL 2020),
of misspellings.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import log

from holdfast.text.misread import NONE, Misread

HALF = 0.5
Neighbours = Mapping[str, Sequence[str]]


def grouped(
    neighbours: Neighbours, counts: Mapping[str, int], least: float, misread: Misread = NONE
) -> dict[str, str]:
    """Return each word that changes with the word of its group: the most frequent.

    `neighbours` are the substitutes of each word, as the attacker has them; `misread` what slips
    of a word are read as. Of equally frequent words the first in the alphabet is chosen.
    """
    groups = _Groups(neighbours, counts, misread)
    groups.join(least)
    return {
        word: target
        for members in groups.members.values()
        if len(members) > 1
        for target in [min(members, key=lambda word: (-counts.get(word, 0), word))]
        for word in members
        if word != target
    }


class _Groups:
    """The groups so far, each under the name of one of its words."""

    def __init__(self, neighbours: Neighbours, counts: Mapping[str, int], misread: Misread) -> None:
        self.hidden: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for word, other, share in _exchanges(neighbours, misread):
            often = share * (counts.get(word, 0) + HALF)
            self.hidden[word][other] += often
            self.hidden[other][word] += often
        self.members = {word: [word] for word in self.hidden}
        self.counts = {word: counts.get(word, 0) + HALF for word in self.hidden}
        self.version = dict.fromkeys(self.hidden, 0)
        self.queue = [
            self._entry(one, other)
            for one, others in self.hidden.items()
            for other in others
            if one < other
        ]
        heapq.heapify(self.queue)

    def join(self, least: float) -> None:
        """Join groups until none is worth it."""
        while self.queue:
            worth, one, other, *versions = heapq.heappop(self.queue)
            if [self.version.get(one), self.version.get(other)] != versions:
                continue  # one of them has been joined with others since
            if -worth < least:
                return
            self._join(*sorted((one, other), key=lambda name: -len(self.hidden[name])))

    def _join(self, kept: str, gone: str) -> None:
        self.members[kept] += self.members.pop(gone)
        self.counts[kept] += self.counts.pop(gone)
        del self.version[gone]
        self.version[kept] += 1
        for other, share in self.hidden.pop(gone).items():
            del self.hidden[other][gone]
            if other != kept:
                self.hidden[kept][other] += share
                self.hidden[other][kept] += share
        for other in self.hidden[kept]:
            heapq.heappush(self.queue, self._entry(kept, other))

    def _entry(self, one: str, other: str) -> tuple[float, str, str, int, int]:
        """Return a place in the queue; it holds as long as both groups are what they are."""
        worth = self.hidden[one][other] / self._cost(one, other)
        return -worth, one, other, self.version[one], self.version[other]

    def _cost(self, one: str, other: str) -> float:
        n, m = self.counts[one], self.counts[other]
        return _f(n + m) - _f(n) - _f(m)


def _exchanges(neighbours: Neighbours, misread: Misread) -> Iterator[tuple[str, str, float]]:
    """Yield word, what it is exchanged for, and how often, of those who exchange or misspell it."""
    for word, substitutes in neighbours.items():
        yield from ((word, other, 1 / len(substitutes)) for other in substitutes)
    for word, others in misread.items():
        yield from ((word, other, share) for other, share in others.items())


def _f(count: float) -> float:
    return count * log(count)
