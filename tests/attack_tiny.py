"""Tiny random models as victims, and sentences of the words that their tokenizers know."""

from collections.abc import Sequence

import torch
from attack_bag import examples
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from holdfast.data import Example
from holdfast.text import CanonicalMap
from holdfast.victim import ModelVictim


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
