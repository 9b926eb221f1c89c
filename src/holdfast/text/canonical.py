"""Canonical text: each word is written as the most frequent of those that may stand for it.

Synonyms that an attacker could exchange become the same word before the model sees them
(synonym encoding; Wang et al., UAI 2021). Misspellings can be undone first. No gradient and no
cost, and every position in the new text is known in the user's own.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import InputError
from holdfast.record import read_note, write_note
from holdfast.text.canonical_settings import (
    check_groups,
    check_misspelt,
    check_rounds,
    check_slips,
    check_trust,
)
from holdfast.text.groups import grouped
from holdfast.text.lexicon import Lexicon, lexicon_of
from holdfast.text.misread import NONE, misread
from holdfast.text.neighbourhoods import most_frequent_neighbours
from holdfast.text.spelling import Spelling, spelling_of
from holdfast.text.spelling_index import SpellingIndex
from holdfast.text.told_apart import Apart, never_apart
from holdfast.text.two_readings import Blend
from holdfast.text.words import Words, like, split_words

FILE_NAME = "canonical.json"
# an older version must not read on without what a newer one added
FORMAT, WITH_SPELLING, READ_TWICE, GIVES_WAY, MISSPELT = 1, 2, 3, 4, 5


class Span(NamedTuple):
    """A word that was rewritten: where it stands now and where the user's word stood."""

    start: int
    end: int
    original_start: int
    original_end: int


@dataclass(frozen=True)
class CanonicalText:
    """A rewritten text, and the way back from it."""

    text: str
    """The text in canonical form."""
    spans: tuple[Span, ...]
    """The words that were rewritten, in order; what lies between them only moved."""

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Return the smallest range of the user's text that holds this range of the new one.

        Part of a rewritten word stands for the whole of the user's word.
        """
        return _carried(self.spans, start, end)

    def to_canonical(self, start: int, end: int) -> tuple[int, int]:
        """Return the smallest range of the new text that holds this range of the user's."""
        mirrored = [Span(*span[2:], *span[:2]) for span in self.spans]
        return _carried(mirrored, start, end)


def _carried(spans: Sequence[Span], start: int, end: int) -> tuple[int, int]:
    before = bisect_right(spans, start, key=lambda span: span.start)
    if before and start < spans[before - 1].end:
        carried_start = spans[before - 1].original_start
    else:
        carried_start = start + _shift(spans, before)
    before = bisect_left(spans, end, key=lambda span: span.start)
    if before and end < spans[before - 1].end:
        return carried_start, spans[before - 1].original_end
    return carried_start, end + _shift(spans, before)


def _shift(spans: Sequence[Span], before: int) -> int:
    """Return how far a position after so many rewritten words has moved."""
    return spans[before - 1].original_end - spans[before - 1].end if before else 0


def _as_read(
    counts: Counter[str], lexicon: Lexicon, index: SpellingIndex
) -> tuple[Counter[str], Lexicon]:
    """Return how often each word is read, and which words are exchanged for which.

    A word that is taken for a slip of another is never met: who writes it has written the other.
    """

    @cache  # a lexicon comes back to the same words
    def read(word: str) -> str:
        return index.read(word) or word

    seen: Counter[str] = Counter()
    for word, count in counts.items():
        seen[read(word)] += count
    exchanges = {
        word: [read(other) for other in others]
        for word, others in lexicon.neighbours.items()
        if read(word) == word
    }
    return seen, lexicon_of(exchanges, lexicon.source)


@dataclass(frozen=True)
class CanonicalMap:
    """What each word is written as; made from a lexicon and the training texts."""

    mapping: Mapping[str, str] = field(repr=False)
    """Only words that change, in lower case."""
    lexicon: str
    """Checksum (sha256) of the lexicon."""
    rounds: int
    """How often a word was replaced by the most frequent of its substitutes."""
    spelling: Spelling | None = None
    """How words that nobody knows are corrected; none: they stay."""
    trust: float = 1.0
    """Weight of the answer on the canonical text, beside the one on the text's own words."""
    gives_way: bool = False
    """Whether it has that weight only where it is sure."""

    @property
    def blend(self) -> Blend:
        """How its answer and the one on the text's own words become one."""
        return Blend(self.trust, self.gives_way)

    @classmethod
    def fit(
        cls,
        texts: Iterable[str],
        lexicon: Lexicon,
        rounds: int = 2,
        *,
        spelling: bool = False,
        misspelt: float = 0.0,
        known: Iterable[str] = (),
        apart: Apart = never_apart,
        frequent: float | None = None,
        groups: float | None = None,
        slips: bool = False,
        trust: float = 1.0,
        gives_way: bool = False,
    ) -> "CanonicalMap":
        """Count the words of the training texts and choose the word for each neighbourhood.

        A neighbourhood is a word with its neighbours in the symmetrised lexicon. Of words that
        are equally frequent the first in the alphabet is chosen, so that the choice is one. To
        the `spelling` all words of the texts and of the lexicon are known, and those `known`; of
        all words so many are `misspelt`, and words that it reads as others count as those.
        A word does not become one that is `apart` from it, and none that is `frequent` changes.
        With `groups` these take the place of neighbourhoods (`holdfast.text.groups`); `slips` that
        are read as other words are then hidden like exchanges.
        """
        check_rounds(rounds)
        check_trust(trust)
        check_misspelt(misspelt, undone=spelling)
        check_slips(slips, grouped=groups is not None, undone=spelling)
        check_groups(groups, alone=apart is never_apart and frequent is None)
        counts = Counter(word.text.lower() for text in texts for word in split_words(text))
        words: Spelling | None = None
        exchanges, misreadings = lexicon, NONE
        if spelling:
            right = chain(lexicon.symmetric().neighbours, known)
            words = spelling_of(counts, right, float(misspelt))
            index = SpellingIndex(words)
            counts, exchanges = _as_read(counts, lexicon, index)
            misreadings = misread(counts, index) if slips else NONE
        chosen = (
            most_frequent_neighbours(
                exchanges.symmetric().neighbours, counts, rounds, apart, frequent
            )
            if groups is None
            else grouped(exchanges.neighbours, counts, groups, misreadings)
        )
        changed = {word: target for word, target in sorted(chosen.items()) if word != target}
        return cls(changed, lexicon.sha256, rounds, words, float(trust), gives_way)

    def own_words(self) -> "CanonicalMap | None":
        """Return what is done to a text that keeps its own words; None: nothing."""
        own = replace(self, mapping={}, rounds=0, trust=1.0, gives_way=False)
        return None if self.spelling is None else own

    def target(self, word: str) -> str | None:
        """Return how a word in lower case is written; none: as it is."""
        corrected = None if self.spelling is None else self.spelling.corrected(word)
        return self.mapping.get(corrected or word, corrected)

    def apply(self, text: str) -> CanonicalText:
        """Rewrite the words of `text`, each in its own case; all else stays as it is."""
        words = Words.of(text)
        targets = {
            index: like(word.text, target)
            for index, word in enumerate(words.words)
            if (target := self.target(word.text.lower())) is not None
        }
        rewritten = words.replaced(targets)
        spans = (Span(*rewritten.words[index][1:], *words.words[index][1:]) for index in targets)
        return CanonicalText(rewritten.text, tuple(spans))

    def save(self, folder: Path) -> None:
        """Write `canonical.json` into the folder of a checkpoint, entirely or not at all."""
        content: dict[str, Any] = {
            "lexicon_sha256": self.lexicon,
            "rounds": self.rounds,
            "mapping": dict(self.mapping),
        }
        if self.spelling is not None:
            content["counts"] = dict(self.spelling.counts)
        form = FORMAT if self.spelling is None else WITH_SPELLING
        if self.trust < 1:
            content["trust"], form = self.trust, READ_TWICE
        if self.gives_way:
            content["gives_way"], form = True, GIVES_WAY
        if self.spelling is not None and self.spelling.misspelt:
            content["misspelt"], form = self.spelling.misspelt, MISSPELT
            content["trust"] = self.trust  # which no format from READ_TWICE on leaves out
        write_note(folder / FILE_NAME, form, content, indent=1)

    @classmethod
    def load(cls, folder: Path) -> "CanonicalMap | None":
        """Return the map of a checkpoint; None when its texts are read as they are."""
        file, otherwise = folder / FILE_NAME, "does not say how words are written"
        later = (WITH_SPELLING, READ_TWICE, GIVES_WAY, MISSPELT)
        content = read_note(file, FORMAT, otherwise, also=later)
        if content is None:
            return None
        mapping, rounds = content.get("mapping"), content.get("rounds")
        trust = content.get("trust", None if content["format"] >= READ_TWICE else 1.0)
        way, misspelt = content.get("gives_way", False), content.get("misspelt", 0.0)
        if (
            not (isinstance(mapping, dict) and isinstance(rounds, int))
            or not all(isinstance(target, str) for target in mapping.values())
            or not (isinstance(trust, float) and isinstance(way, bool))
            or not isinstance(misspelt, float)
        ):
            raise InputError(f"{file} {otherwise}; save the model again.")
        try:
            check_trust(trust)
            check_misspelt(misspelt, undone="counts" in content)
        except InputError as error:
            raise InputError(f"{file}: {error}") from error
        words, counts = None, content.get("counts")
        if content["format"] == WITH_SPELLING or counts is not None:
            if not isinstance(counts, dict):
                raise InputError(
                    f"{file} does not say which words are known; save the model again."
                )
            words = spelling_of(counts, (), misspelt)
        return cls(mapping, str(content.get("lexicon_sha256")), rounds, words, trust, way)
