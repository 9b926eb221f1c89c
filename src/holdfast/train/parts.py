"""A run's examples as token ids, with substitutes for their words where the loss needs them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from holdfast.data import EncodedExamples, Example, Item, PadBatch, majority
from holdfast.text import Coverage, Lexicon, Substituter
from holdfast.train.collate import CandidateBatch
from holdfast.train.columns import labels_of
from holdfast.train.config import TrainConfig
from holdfast.train.examples import RunExamples
from holdfast.train.recorded import is_wanted, width

Collate = Callable[[Sequence[Item]], dict[str, Tensor]]


@dataclass(frozen=True)
class EncodedParts:
    """The parts of a run that exist (train, validation, held_out), and how they are batched."""

    datasets: Mapping[str, EncodedExamples]
    collate: Collate
    lexicon: Lexicon | None = None
    """Where the substitutes come from; none: the run needs none."""
    coverage: Coverage | None = None
    """How many words of the training texts have a substitute."""

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(dataset.longest for dataset in self.datasets.values())

    def describe(self) -> dict[str, Any]:
        """Return for the record what knowing nothing would score, and what stands in for what."""
        measured = {name: part for name, part in self.datasets.items() if name != "train"}
        told = {"majority": {n: majority(labels_of(part)) for n, part in measured.items()}}
        if self.lexicon is None or self.coverage is None:
            return told
        found = {"source": self.lexicon.source, "sha256": self.lexicon.sha256}
        covered = {"words": self.coverage.words, "covered": self.coverage.covered}
        return {**told, "lexicon": found, "coverage": covered}


def encode_parts(
    examples: RunExamples,
    tokenizer: PreTrainedTokenizerBase,
    config: TrainConfig,
    lexicon: Lexicon | None = None,
) -> EncodedParts:
    """Tokenise every part; with a lexicon, find the substitutes of its words."""
    given = {"train": examples.train, "validation": examples.validation}
    if examples.held_out is not None:
        given["held_out"] = examples.held_out
    if lexicon is None:
        length = config.data.max_length
        datasets = {name: EncodedExamples(part, tokenizer, length) for name, part in given.items()}
        return EncodedParts(datasets, _padding(tokenizer, config, len(given["train"])))
    return _with_substitutes(given, tokenizer, config, lexicon)


def _with_substitutes(
    given: Mapping[str, Sequence[Example]],
    tokenizer: PreTrainedTokenizerBase,
    config: TrainConfig,
    lexicon: Lexicon,
) -> EncodedParts:
    substituter = Substituter(tokenizer, lexicon, config.substitutions)
    tokenised = {
        name: substituter.tokenise([example.texts for example in part], config.data.max_length)
        for name, part in given.items()
    }
    datasets = {
        name: EncodedExamples.from_columns(given[name], texts.columns)
        for name, texts in tokenised.items()
    }
    collate = CandidateBatch(_padding(tokenizer, config, len(given["train"])), substituter.table())
    return EncodedParts(datasets, collate, lexicon, tokenised["train"].coverage)


def _padding(tokenizer: PreTrainedTokenizerBase, config: TrainConfig, trained: int) -> PadBatch:
    """Pad as little as can be, unless steps are recorded, for which few shapes are better."""
    settings = config.optimisation
    if not is_wanted(settings):
        return PadBatch(tokenizer)
    steps = trained * settings.epochs / settings.batch_size
    return PadBatch(tokenizer, multiple_of=width(steps), at_most=config.data.max_length)
