"""Each word becomes the most frequent of its neighbourhood, so many times over."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from holdfast.text.told_apart import Apart


def most_frequent_neighbours(
    neighbourhoods: Mapping[str, Sequence[str]],
    counts: Counter[str],
    rounds: int,
    apart: Apart,
    frequent: float | None,
) -> dict[str, str]:
    """Return what each word of the symmetrised lexicon becomes; `CanonicalMap.fit` says how."""
    stays = inf if frequent is None else frequent * counts.total()
    chosen = {word: word for word in neighbourhoods}
    once = {
        word: word
        if counts[word] >= stays
        else _most_frequent((word, *(n for n in neighbours if not apart(word, n))), counts)
        for word, neighbours in neighbourhoods.items()
    }
    for _ in range(rounds):
        chosen = {
            word: target if apart(word, once[target]) else once[target]
            for word, target in chosen.items()
        }
    return chosen


def _most_frequent(words: Iterable[str], counts: Mapping[str, int]) -> str:
    return min(words, key=lambda word: (-counts[word], word))
