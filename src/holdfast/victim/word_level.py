"""Texts of one id a word, as a model reads them that was trained in the mode `word_level`.

The ids are asked of the reader that training used. What NLTK makes of a text depends on a word
only by little: whether it splits it, whether it takes `x.` for an initial, and whether a sentence
begins with a capital. A substitute that is alike in this changes its own id and no other. All
others are few, and a text with one of them is read from its characters.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Lexicon, WordLevelReader, Words, WordTokens, align, nltk_words
from holdfast.victim.reading import TokenReading
from holdfast.victim.space import Space
from holdfast.victim.splice import Spans
from holdfast.victim.vocabulary import Ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Words that NLTK splits; that decide what it makes of an apostrophe before them; or that make a
# line break of reviews.
_SPLIT = frozenset(
    "cannot gimme gonna gotta lemme wanna tis twas re ve ll m t s d n br".split()  # noqa: SIM905
)
_QUOTES = {"``": ('"', "''"), "''": ('"',)}  # how NLTK writes quotation marks, and what they were
_GAP = re.compile(r"\W+")
_ENDS = frozenset(".?!")  # of sentences
_BREAK = "<br />"
_UNKNOWN = ("oov", "oovoov", "oovoovoov")  # the first that a vocabulary lacks hides a word


class WordLevel:
    """Reads texts word by word; only `max_length` tokens are ever made of one."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", max_length: int) -> None:
        self._reader = WordLevelReader(tokenizer, Lexicon({}, "none", ""), limit=1)
        self._split, self._max_length = nltk_words(), max_length
        missing = (tokenizer.unk_token_id,)
        ids = zip(_UNKNOWN, self.ids([("", word) for word in _UNKNOWN]), strict=True)
        unknown = next((word for word, own in ids if own == missing), tokenizer.unk_token)
        self.hidden: str | None = None if unknown is None else str(unknown)

    def read(self, texts: Sequence[tuple[Words, ...]]) -> list[TokenReading]:
        """Return how examples are read, with the token of each word that is one by itself."""
        rows = self.tokenise([tuple(words.text for words in of) for of in texts])
        return [self._reading(of, tuple(row)) for of, row in zip(texts, rows, strict=True)]

    def tokenise(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the tokens of whole texts, cut to the window; their types are all the same."""
        return self._reader.read(texts, self._max_length, ()).columns["input_ids"] if texts else []

    def ids(self, words: Sequence[tuple[str, str]]) -> list[Ids | None]:
        """Return the first id of words; what stands before them does not matter."""
        rows = self.tokenise([(word,) for _, word in words])
        return [tuple(row[1:-1][:1]) for row in rows]

    def _reading(self, of: tuple[Words, ...], tokens: Ids) -> TokenReading:
        visible: list[int] = []
        aligned: list[tuple[WordTokens, ...]] = []
        first = 1  # behind the token that begins every text
        for words in of:
            text = _without_breaks(words.text)
            spans = _located(text, self._split(text))
            if spans is None:
                return TokenReading(tuple(min(len(words), self._max_length) for words in of), of)
            kept = spans[: max(0, len(tokens) - 1 - first)]
            end = kept[-1][1] if kept else 0
            visible.append(sum(word.start < end for word in words.words))
            found = align(text, words.words, kept, [0] * len(kept))
            pairs = zip(words.words, found, strict=True)
            aligned.append(tuple(_own(word.text, at, first) for word, at in pairs))
            first += len(spans) + 1  # and the separator
        return TokenReading(tuple(visible), of, tokens, tuple(aligned), tail=1)

    def spans(self, reading: TokenReading, space: Space) -> Spans | None:
        """Return the token of each position: nothing for a word that has none of its own."""
        found: Spans = []
        end = 0
        for number, word in space.places if reading.aligned else ():
            own = reading.aligned[number][word]
            start, end = (own.positions[0], own.positions[0] + 1) if own.exact else (end, end)
            found.append((start, end))
        return found or None

    def longest(self, reading: TokenReading) -> int | None:
        """Return None: a text that is too long loses its end, however long its parts are."""
        return None

    def whole(
        self, reading: TokenReading, space: Space, spell: Callable[[str], str], hidden: str
    ) -> NDArray[np.bool_]:
        """Return (positions, choices): whether a choice may change more than its word's own id."""
        found = np.ones((len(space), int(space.sizes.max(initial=1)) + 2), dtype=np.bool_)
        found[:, 0] = False
        edges = [_Edges.of(_without_breaks(words.text)) for words in reading.words]
        for at, (number, index) in enumerate(space.places):
            if reading.aligned[number][index].exact:
                word = reading.words[number].words[index]
                opens, closes = word.start in edges[number].opens, word.end in edges[number].closes
                own = _look(word.text, opens, closes)
                looks = (_look(spell(new), opens, closes) for new in space.choices[at][1:])
                found[at, 1 : len(space.choices[at])] = [look != own for look in looks]
                found[at, -1] = _look(spell(hidden), opens, closes) != own
        return found


def _without_breaks(text: str) -> str:
    """Return the text as the reader sees it, every character in its place."""
    return text.replace(_BREAK, " " * len(_BREAK))


def _located(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return where NLTK's words stand in the text; None if one is not to be found."""
    spans: list[tuple[int, int]] = []
    at = 0
    for word in words:
        while text[at : at + 1].isspace():
            at += 1
        written = next((w for w in (word, *_QUOTES.get(word, ())) if text.startswith(w, at)), None)
        if written is None:
            return None
        spans.append((at, at + len(written)))
        at += len(written)
    return spans


def _own(word: str, tokens: WordTokens, first: int) -> WordTokens:
    """Return the word's token if it is the only one and can be exchanged."""
    exact = tokens.exact and len(tokens.positions) == 1 and _plain(word)
    return WordTokens(tuple(at + first for at in tokens.positions), exact)


def _plain(word: str) -> bool:
    """Return whether NLTK takes a word for one, whatever stands around it."""
    return word.isalpha() and word.casefold() not in _SPLIT


class _Look(NamedTuple):
    """What NLTK sees of a word that it does not split."""

    initial: bool
    upper: bool
    lower: bool


def _look(word: str, opens: bool, closes: bool) -> _Look | None:
    """Return what is seen of a word that may open or close a sentence; None if it is not plain."""
    if not _plain(word):
        return None
    first = word[0] if opens else ""
    return _Look(closes and len(word) == 1, first.isupper(), first.islower())


class _Edges(NamedTuple):
    """Where a sentence may begin and where one may end."""

    opens: frozenset[int]
    closes: frozenset[int]

    @classmethod
    def of(cls, text: str) -> "_Edges":
        gaps = [gap.span() for gap in _GAP.finditer(text) if not _ENDS.isdisjoint(gap[0])]
        return cls(frozenset(end for _, end in gaps), frozenset(start for start, _ in gaps))
