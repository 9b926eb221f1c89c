"""A text means about the same as the one it is compared with, to a sentence encoder."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from holdfast.attack.core import Comparison, Verdict
from holdfast.attack.goal import Floats
from holdfast.attack.sources import ModelFolder
from holdfast.errors import InputError
from holdfast.victim import Place, Row, Space

_DECIMALS = 5  # so that the last bits of a kernel do not decide


def angular(cosine: float) -> float:
    """Return the angular similarity of two vectors of this cosine: 1 - angle / pi."""
    return 1 - math.acos(cosine) / math.pi


class Pair(NamedTuple):
    """Two texts, or two windows of them; `free` if they may be as unlike as they are."""

    one: str
    other: str
    free: bool


@dataclass(frozen=True)
class SentenceSimilarity:
    """Compares mean-pooled sentence vectors by their angle: 1 - arccos(cosine) / pi."""

    model: ModelFolder
    """Any sentence encoder that takes the mean over tokens, such as all-MiniLM-L6-v2."""
    threshold: float = 1 - 0.5 / math.pi
    """Angular similarity at least. TextFooler's 1 - arccos(cosine) >= 0.5 is this very bound."""
    window: int | None = 15
    """Words compared around the one that differs; none, or if several differ: the whole text."""
    skip_short: bool = True
    """Whether texts with fewer words than the window may be as unlike as they are."""
    against: Literal["current", "original"] = "current"
    """Compare with the text before the last step, or with the original one."""

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1 or (self.window is not None and self.window < 1):
            raise InputError(
                f"The threshold is {self.threshold} and the window {self.window} words; expected "
                "a similarity within 0 and 1, and 1 word or more."
            )

    @property
    def against_original(self) -> bool:
        """As it was set."""
        return self.against == "original"

    def judge(self, comparisons: Sequence[Comparison]) -> Sequence[Verdict]:
        """Judge all texts with one call of the encoder, each different window once."""
        pairs = [list(self._pairs(comparison)) for comparison in comparisons]
        similarity = self._similarities([pair for of in pairs for pair in of])
        parts = np.split(similarity, np.cumsum([len(of) for of in pairs])[:-1])
        verdicts = []
        for of, part in zip(pairs, parts, strict=True):
            free = np.array([pair.free for pair in of], dtype=np.bool_)
            verdicts.append(Verdict(free | (part >= round(self.threshold, _DECIMALS)), part))
        return verdicts

    def _pairs(self, comparison: Comparison) -> Iterator[Pair]:
        space, reference = comparison.space, comparison.reference
        for row in comparison.rows:
            changed = np.flatnonzero(row != reference)
            words = [space.places[at] for at in changed]
            if self.window is None or len(words) != 1:
                yield Pair(
                    "\n".join(space.spelt(reference)),
                    "\n".join(space.spelt(row)),
                    self._short(space, words),
                )
                continue
            shown = _window(words[0].word, len(space.texts[words[0].text]), self.window)
            one, other = (_spelt(space, of, words[0].text, shown) for of in (reference, row))
            yield Pair(one, other, self._short(space, words))

    def _short(self, space: Space, changed: Sequence[Place]) -> bool:
        texts = {place.text for place in changed}
        longest = max((len(space.texts[number]) for number in texts), default=0)
        return self.skip_short and self.window is not None and longest < self.window

    def _similarities(self, pairs: Sequence[Pair]) -> Floats:
        from holdfast.attack.encoding import sentence_vectors  # torch is needed only here

        if not pairs:
            return np.empty(0)
        texts = dict.fromkeys(text for pair in pairs for text in pair[:2])
        numbers = {text: number for number, text in enumerate(texts)}
        vectors = sentence_vectors(self.model, list(texts))
        ones = vectors[[numbers[pair.one] for pair in pairs]]
        others = vectors[[numbers[pair.other] for pair in pairs]]
        cosines = np.clip((ones * others).sum(axis=1), -1.0, 1.0)
        same = np.array([pair.one == pair.other for pair in pairs])
        angles: Floats = np.where(same, 0.0, np.arccos(cosines))
        return (1 - angles / math.pi).round(_DECIMALS)


def _window(at: int, count: int, width: int) -> range:
    """Return `width` of `count` words with `at` in their middle, as far as that can be."""
    first = min(max(0, at - width // 2), max(0, count - width))
    return range(first, min(count, first + width))


def _spelt(space: Space, row: Row, number: int, shown: range) -> str:
    """Return some words of a text as a row spells them, with what stands between them."""
    words = space.texts[number].words[shown.start : shown.stop]
    changed = ((space.places[at], space.choices[at][row[at]]) for at in np.flatnonzero(row > 0))
    chosen = {place.word: new for place, new in changed if place.text == number}
    text, pieces, done = space.texts[number].text, [], words[0].start
    for index, word in zip(shown, words, strict=True):
        pieces += [text[done : word.start], chosen.get(index, word.text)]
        done = word.end
    return "".join(pieces)
