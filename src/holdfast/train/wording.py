"""How a run words its texts before they are tokenised, and the note of it beside the model."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.data import Example
from holdfast.text import CanonicalMap, find_lexicon
from holdfast.text.settings import TextSettings
from holdfast.train.config import TrainConfig
from holdfast.train.examples import RunExamples


@dataclass(frozen=True)
class Wording:
    """What a text goes through; whoever loads the model does the same."""

    settings: TextSettings
    canonical: CanonicalMap | None = None

    def apply(self, examples: RunExamples) -> RunExamples:
        """Return the examples as the model is to see them."""
        if self.canonical is None:
            return examples
        held_out = None if examples.held_out is None else self._reworded(examples.held_out)
        return dataclasses.replace(
            examples,
            train=self._reworded(examples.train),
            validation=self._reworded(examples.validation),
            held_out=held_out,
        )

    def _reworded(self, examples: Sequence[Example]) -> list[Example]:
        return [dataclasses.replace(one, texts=self._texts(one.texts)) for one in examples]

    def _texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        canonical = self.canonical
        return tuple(text if canonical is None else canonical.apply(text).text for text in texts)

    def save(self, folder: Path) -> None:
        """Write it beside a model."""
        self.settings.save(folder)
        if self.canonical is not None:
            self.canonical.save(folder)


def wording_of(examples: RunExamples, config: TrainConfig) -> Wording:
    """Return the wording of a run; the words of its training examples are counted, no others."""
    settings = TextSettings(config.data.max_length, config.substitutions.mode)
    if config.canonical is None:
        return Wording(settings)
    lexicon = find_lexicon(config.canonical.lexicon or config.substitutions.lexicon)
    texts = (text for example in examples.train for text in example.texts)
    return Wording(settings, CanonicalMap.fit(texts, lexicon, config.canonical.rounds))
