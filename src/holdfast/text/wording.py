"""The texts of a checkpoint as it was trained to see them, before and after tokenisation."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.text.canonical import CanonicalMap
from holdfast.text.lexicon import Lexicon
from holdfast.text.settings import TextSettings
from holdfast.text.two_readings import Blend
from holdfast.text.word_level import WordLevelReader

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Wording:
    """What a text goes through before the model; saved beside it, applied by whoever loads it."""

    settings: TextSettings | None = None
    """How it is tokenised; none: as its tokenizer does, by a model made elsewhere."""
    canonical: CanonicalMap | None = None
    """The canonical form of its words; none: they stay."""

    @classmethod
    def load(cls, folder: Path) -> "Wording":
        """Return the wording of a checkpoint folder."""
        return cls(TextSettings.load(folder), CanonicalMap.load(folder))

    def save(self, folder: Path) -> None:
        """Write it beside a model."""
        if self.settings is not None:
            self.settings.save(folder)
        if self.canonical is not None:
            self.canonical.save(folder)

    def reword(self, texts: Texts) -> Texts:
        """Return the texts of one example in canonical form."""
        canonical = self.canonical
        return texts if canonical is None else tuple(canonical.apply(text).text for text in texts)

    def readings(self, texts: Texts) -> tuple[Texts, ...]:
        """Return the texts of one example as often as the model reads them.

        Once as it was trained to see them; where the canonical form is not trusted alone, then in
        their own words.
        """
        canonical = self.canonical
        if canonical is None or canonical.trust == 1:
            return (self.reword(texts),)
        own = Wording(self.settings, canonical.own_words())
        return self.reword(texts), own.reword(texts)

    @property
    def blend(self) -> Blend:
        """How the answers on the readings become one."""
        return Blend() if self.canonical is None else self.canonical.blend

    def read_otherwise(self, texts: Iterable[Texts]) -> Counter[tuple[str, str]]:
        """Count the words that the model is given as other words."""
        found: Counter[tuple[str, str]] = Counter()
        if self.canonical is None:
            return found
        for text in (text for of in texts for text in of):
            written = self.canonical.apply(text)
            for span in written.spans:
                new = written.text[span.start : span.end]
                found[text[span.original_start : span.original_end], new] += 1
        return found

    def word_reader(self, tokenizer: "PreTrainedTokenizerBase") -> "WordLevelReader | None":
        """Return what reads texts for a model that takes one token a word; None for any other."""
        if self.settings is None or self.settings.mode != "word_level":
            return None
        return WordLevelReader(tokenizer, Lexicon({}, "none", ""), limit=1)
