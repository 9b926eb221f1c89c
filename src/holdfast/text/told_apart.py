"""Which words the labels of the training texts tell apart.

Some synonyms of a lexicon are none to the task: "fine" and "superb" are neighbours, and reviews
with the one and with the other are not alike. For a class y and two words v and w, with the
examples that have a word counted by class,

    d = log odds(y | v) - log odds(y | w),    s^2 = sum of 1 / (count + 1/2) over the four counts

(Woolf's standard error, Haldane's half). They are told apart by more than a limit where
|d| - 1.96 s lies above it for some class: words that are rarely seen never are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

from holdfast.text.words import split_words

CONFIDENCE = 1.96
Apart = Callable[[str, str], bool]
"""Whether two words are to be kept apart."""
Labelled = tuple[Sequence[str], int]
"""The texts of an example, and its class."""


def never_apart(one: str, other: str) -> bool:
    """Keep no words apart."""
    return False


@dataclass(frozen=True)
class WordLabels:
    """How many examples of each class have a word."""

    counts: Mapping[str, tuple[int, ...]] = field(repr=False)
    """Word in lower case to its examples, by class."""

    @classmethod
    def of(cls, examples: Iterable[Labelled], classes: int) -> "WordLabels":
        """Count the words of labelled examples; a word counts once in each."""
        counted: dict[str, list[int]] = defaultdict(lambda: [0] * classes)
        for texts, label in examples:
            for word in {word.text.lower() for text in texts for word in split_words(text)}:
                counted[word][label] += 1
        return cls({word: tuple(counts) for word, counts in counted.items()})

    def apart(self, one: str, other: str, limit: float) -> bool:
        """Whether the classes tell two words apart by more than `limit`, in log odds."""
        if one not in self.counts or other not in self.counts:
            return False
        left, right = self.counts[one], self.counts[other]
        return any(
            _surely(n, sum(left) - n, m, sum(right) - m) > limit
            for n, m in zip(left, right, strict=True)
        )


def _surely(n: int, rest_n: int, m: int, rest_m: int) -> float:
    """Return by how much two log odds differ at least."""
    a, b, c, d = (count + 0.5 for count in (n, rest_n, m, rest_m))
    return abs(log(a / b) - log(c / d)) - CONFIDENCE * sqrt(1 / a + 1 / b + 1 / c + 1 / d)
