"""Bags of words as victims: their best attack is known by hand, and torch is not needed."""

import math
from collections.abc import Mapping, Sequence

from holdfast.data import Example
from holdfast.text import Lexicon, lexicon_of, split_words
from holdfast.victim import FunctionVictim

WEIGHTS = {"great": 2.0, "good": 1.0, "fine": 0.5, "film": 0.3, "movie": 0.1, "dull": -2.0}
LEXICON: Lexicon = lexicon_of(
    {
        "great": ["good", "fine"],
        "good": ["great", "fine", "okay"],
        "film": ["movie", "picture"],
        "plot": ["story"],
        "story": ["plot", "tale"],
        "dull": ["slow", "drab"],
    },
    "made for the tests",
)


class BagOfWords:
    """Adds up the weights of words: p(1) is the sigmoid of the sum."""

    def __init__(self, weights: Mapping[str, float] = WEIGHTS, bias: float = 0.0) -> None:
        self.weights, self.bias = dict(weights), bias
        self.asked: list[object] = []

    def __call__(self, texts: Sequence[object]) -> list[list[float]]:
        self.asked += texts
        return [self.one(text) for text in texts]

    def one(self, text: object) -> list[float]:
        whole = text if isinstance(text, str) else " ".join(text)
        words = (word.text.lower() for word in split_words(whole))
        score = self.bias + math.fsum(self.weights.get(word, 0.0) for word in words)
        positive = 1 / (1 + math.exp(-score))
        return [1 - positive, positive]


def bag(**settings: object) -> FunctionVictim:
    return FunctionVictim(BagOfWords(), name="bag", **settings)


def examples(*texts: str | tuple[str, ...], label: int = 1) -> list[Example]:
    pairs = [(text,) if isinstance(text, str) else text for text in texts]
    return [Example(f"test:{number}", pair, label) for number, pair in enumerate(pairs)]
