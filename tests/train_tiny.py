"""A tiny random BERT, a tokenizer of a few words and sentences to learn, for the training tests."""

import csv
import random
from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from holdfast.data import EncodedExamples, Example, PadBatch
from holdfast.objectives import Batch, Loss, inputs_of

GOOD, BAD = ("fine", "great", "warm"), ("dull", "cold", "weak")
FILLERS = ("the", "film", "was", "very", "story", "and", "a", "cast")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def tokenizer() -> PreTrainedTokenizerFast:
    words = (*SPECIAL, *GOOD, *BAD, *FILLERS)
    plain = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=32, **names)


def model(*, seed: int = 0, dropout: float = 0.0) -> BertForSequenceClassification:
    torch.manual_seed(seed)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=32,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=32,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    )


def examples(count: int, *, seed: int = 0) -> list[Example]:
    draw = random.Random(seed)
    return [_example(row, draw) for row in range(count)]


def _example(row: int, draw: random.Random) -> Example:
    label = row % 2
    words = [draw.choice(FILLERS) for _ in range(draw.randint(2, 6))]
    words.insert(draw.randrange(len(words)), draw.choice((BAD, GOOD)[label]))
    return Example(f"train:{row}", (" ".join(words),), label)


def encoded(count: int, *, seed: int = 0) -> EncodedExamples:
    return EncodedExamples(examples(count, seed=seed), tokenizer(), 16)


def collator() -> PadBatch:
    return PadBatch(tokenizer())


def write_checkpoint(folder: Path, *, dropout: float = 0.1) -> Path:
    """Save an encoder without a classifier, as pre-trained ones come."""
    model(dropout=dropout).bert.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def write_csv(path: Path, count: int, *, seed: int = 0) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows([e.texts[0], ("bad", "good")[e.label]] for e in examples(count, seed=seed))
    return path


class TwoPasses:
    """Cross-entropy, then a head's cross-entropy on the logits: two backward passes a step."""

    passes = 2
    moves = substitutes = class_conditional = False

    def extras(self, model: nn.Module) -> nn.Module:
        torch.manual_seed(7)
        return nn.ModuleDict(
            {"head": nn.Linear(2, 2), "frozen": nn.Linear(2, 2).requires_grad_(False)}
        )

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        loss = nn.functional.cross_entropy(model(**inputs_of(batch)).logits, batch["labels"])
        yield Loss(loss / 2, {"plain": loss})
        logits = extras["head"](model(**inputs_of(batch)).logits)
        loss = nn.functional.cross_entropy(logits, batch["labels"])
        yield Loss(loss / 2, {"headed": loss})
