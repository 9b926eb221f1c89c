"""Small victims for the attack tests: bags of words whose best attack is known, tiny models."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from holdfast.data import Example
from holdfast.text import CanonicalMap, Lexicon, lexicon_of, split_words
from holdfast.victim import FunctionVictim, ModelVictim

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


def model(
    tokenizer: PreTrainedTokenizerFast, *, seed: int = 0, labels: int = 2, positions: int = 64
) -> BertForSequenceClassification:
    """A random BERT whose answers move with every word."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        num_labels=labels,
        pad_token_id=tokenizer.pad_token_id,
    )
    made = BertForSequenceClassification(config)
    for name, parameter in made.named_parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, std=1.0 if "embed" in name else 0.4)
    return made.eval()


def victim(
    tokenizer: PreTrainedTokenizerFast,
    *,
    seed: int = 0,
    max_length: int | None = None,
    canonical: CanonicalMap | None = None,
) -> ModelVictim:
    return ModelVictim(
        model(tokenizer, seed=seed), tokenizer, max_length=max_length, canonical=canonical
    )


def labelled(found: ModelVictim, texts: Sequence[str | tuple[str, ...]]) -> list[Example]:
    """Examples that the victim gets right, but for every fifth."""
    made = examples(*texts)
    answers = found.score([example.texts for example in made]).argmax(axis=1)
    return [
        Example(example.id, example.texts, int(answer) ^ (number % 5 == 4))
        for number, (example, answer) in enumerate(zip(made, answers, strict=True))
    ]


SUBJECTS = ("the film", "a movie", "Film", "the great picture", "a bad film")
VERDICTS = ("was good", "was bad", "was a great movie", "fine, good film", "was the film")


def sentences(count: int) -> list[str]:
    """Sentences of the tokenizers' words, no two the same for 25 of them."""
    pairs = [f"{one} {other}" for other in VERDICTS for one in SUBJECTS]
    return [pairs[number % len(pairs)] for number in range(count)]
