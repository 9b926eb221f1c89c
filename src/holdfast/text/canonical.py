"""Canonical text: each word is written as the most frequent of those that may stand for it.

Synonyms that an attacker could exchange become the same word before the model sees them
(synonym encoding; Wang et al., UAI 2021). Misspellings can be undone first. No gradient and no
cost, and every position in the new text is known in the user's own.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import InputError
from holdfast.record import read_note, write_note
from holdfast.text.groups import grouped
from holdfast.text.lexicon import Lexicon
from holdfast.text.neighbourhoods import most_frequent_neighbours
from holdfast.text.spelling import Spelling, spelling_of
from holdfast.text.told_apart import Apart, never_apart
from holdfast.text.two_readings import Blend
from holdfast.text.words import Words, like, split_words

FILE_NAME = "canonical.json"
# an older version must not read on without the spelling, or without the second reading
FORMAT, WITH_SPELLING, READ_TWICE, GIVES_WAY = 1, 2, 3, 4


@dataclass(frozen=True)
class Canonical:
    """Write every text in canonical form before it is tokenised, in training and in use."""

    rounds: int = 2
    """How often a word is replaced by the most frequent of its substitutes; 0: never, so that at
    most its spelling changes."""
    spelling: bool = False
    """Read a word that nobody knows as the known word, one letter away, that was likely meant."""
    apart: float | None = None
    """No word becomes one that the training labels tell it apart from by more than this, in log
    odds; two such words may still meet in a third. None: any word may."""
    frequent: float | None = None
    """Words that make up at least this share of the training texts' words stay as they are; none:
    no word does because of that."""
    groups: float | None = None
    """Words are written as the most frequent of their group, not of their neighbours: groups are
    joined as long as that hides so many exchanges of words for each nat of information it costs
    (0.05 to 0.2). None: there are no groups, and `rounds` says how far a word goes."""
    trust: float = 1.0
    """Weight of the answer on the canonical text, above 0.5 and at most 1; the rest is that of the
    answer on the text's own words. 1: the canonical text alone is read. Below, texts are read
    twice, in training and in use, and what the rewriting loses can be made up for. An answer that
    the canonical text gives a probability above 1 / (2 trust) cannot be changed by words that leave
    this text as it is."""
    gives_way: bool = False
    """Whether the canonical text has that weight only where it gives some answer a probability
    above 1 / (2 trust), and the text's own words have it elsewhere."""
    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the cached lexicon, or one built from WordNet. The
    spelling alone needs none."""

    def __post_init__(self) -> None:
        _check_rounds(self.rounds)
        if self.apart is not None and not self.apart >= 0:
            raise InputError(
                f"Words were to be kept apart by log odds of {self.apart}; expected 0 or more."
            )
        if self.frequent is not None and not 0 < self.frequent <= 1:
            raise InputError(
                f"A word was to be frequent from a share of {self.frequent} on; expected a number "
                "above 0 and at most 1, such as 0.0005."
            )
        if self.groups is not None:
            self._check_groups()
        if self.rounds == 0 and not (self.apart is None and self.frequent is None):
            raise InputError(
                "Words were to be kept apart, or as they are where frequent, and none is to be "
                "rewritten (0 rounds); leave that out, or give 1 round or more."
            )
        _check_trust(self.trust)
        if self.gives_way and self.trust == 1:
            raise InputError(
                "The canonical text was to give way to the text's own words, which are not read "
                "(canonical.trust is 1); give a trust below 1, such as 0.65."
            )
        if self.rounds == 0 and self.trust < 1:
            raise InputError(
                "Texts were to be read twice (canonical.trust below 1), and no word is to be "
                "rewritten (0 rounds), so that both readings are the same; give "
                "--canonical.rounds 2, or leave the trust out."
            )

    def _check_groups(self) -> None:
        if self.groups is None or not self.groups > 0:
            raise InputError(
                f"Groups of words were to hide {self.groups} exchanges for a nat; expected a "
                "number above 0, such as 0.08."
            )
        if self.rounds == 0 or not (self.apart is None and self.frequent is None):
            raise InputError(
                "Words were to be written as their group, which goes with neither 0 rounds nor "
                "`apart` nor `frequent`; leave those out."
            )

    @property
    def changes_nothing(self) -> bool:
        """Whether texts stay as they are."""
        return self.rounds == 0 and not self.spelling


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
        known: Iterable[str] = (),
        apart: Apart = never_apart,
        frequent: float | None = None,
        groups: float | None = None,
        trust: float = 1.0,
        gives_way: bool = False,
    ) -> "CanonicalMap":
        """Count the words of the training texts and choose the word for each neighbourhood.

        A neighbourhood is a word with its neighbours in the symmetrised lexicon. Of words that
        are equally frequent the first in the alphabet is chosen, so that the choice is one. To
        the `spelling` all words of the texts and of the lexicon are right, and those `known`.
        A word does not become one that is `apart` from it, and none that is `frequent` changes.
        With `groups` these take the place of neighbourhoods (`holdfast.text.groups`).
        """
        _check_rounds(rounds)
        if groups is not None and not (apart is never_apart and frequent is None):
            raise InputError(
                "Groups of words know neither `apart` nor `frequent`; leave those out."
            )
        counts = Counter(word.text.lower() for text in texts for word in split_words(text))
        neighbourhoods = lexicon.symmetric().neighbours
        chosen = (
            most_frequent_neighbours(neighbourhoods, counts, rounds, apart, frequent)
            if groups is None
            else grouped(lexicon.neighbours, counts, groups)
        )
        changed = {word: target for word, target in sorted(chosen.items()) if word != target}
        words = spelling_of(counts, chain(neighbourhoods, known)) if spelling else None
        return cls(changed, lexicon.sha256, rounds, words, trust, gives_way)

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
        write_note(folder / FILE_NAME, form, content, indent=1)

    @classmethod
    def load(cls, folder: Path) -> "CanonicalMap | None":
        """Return the map of a checkpoint; None when its texts are read as they are."""
        file, otherwise = folder / FILE_NAME, "does not say how words are written"
        content = read_note(file, FORMAT, otherwise, also=(WITH_SPELLING, READ_TWICE, GIVES_WAY))
        if content is None:
            return None
        mapping, rounds = content.get("mapping"), content.get("rounds")
        trust = content.get("trust", None if content["format"] >= READ_TWICE else 1.0)
        way = content.get("gives_way", False)
        if (
            not (isinstance(mapping, dict) and isinstance(rounds, int))
            or not all(isinstance(target, str) for target in mapping.values())
            or not (isinstance(trust, float) and isinstance(way, bool))
        ):
            raise InputError(f"{file} {otherwise}; save the model again.")
        try:
            _check_trust(trust)
        except InputError as error:
            raise InputError(f"{file}: {error}") from error
        words, counts = None, content.get("counts")
        if content["format"] == WITH_SPELLING or counts is not None:
            if not isinstance(counts, dict):
                raise InputError(
                    f"{file} does not say which words are known; save the model again."
                )
            words = spelling_of(counts, ())
        return cls(mapping, str(content.get("lexicon_sha256")), rounds, words, trust, way)


def _check_trust(trust: float) -> None:
    if not 0.5 < trust <= 1:
        raise InputError(
            f"The canonical text was to be trusted with a weight of {trust}; expected a number "
            "above 0.5 and at most 1: with 0.5 the text's own words could always outvote it."
        )


def _check_rounds(rounds: int) -> None:
    if rounds < 0:
        raise InputError(f"Words were to be rewritten {rounds} times; expected 0 or more.")
