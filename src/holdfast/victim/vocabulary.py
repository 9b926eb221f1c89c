"""The tokens of words as they stand in a text: asked of the tokenizer once, then remembered."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from holdfast.text import CanonicalMap, Word, Words, align
from holdfast.victim.space import HIDDEN_WORD, Space

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BEFORE = "a"  # stands for the text before a word that is not the first
Ids = tuple[int, ...]


class Spelling(NamedTuple):
    """A word and the character before it, which decides about a leading space; "" at the start."""

    left: str
    word: str


class Speller:
    """How words are written before they are tokenised: as they are, or in canonical form."""

    def __init__(self, canonical: CanonicalMap | None, hidden: str | None) -> None:
        self._canonical = canonical
        self._hidden = hidden or HIDDEN_WORD
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Return a word as it is tokenised."""
        if self._canonical is None:
            return word
        if word not in self._known:
            self._known[word] = self._canonical.apply(word).text
        return self._known[word]

    def words(self, text: Words) -> Words:
        """Return a text as it is tokenised; every word keeps its number."""
        if self._canonical is None:
            return text
        return text.replaced({at: self(word.text) for at, word in enumerate(text.words)})

    def text(self, text: str) -> str:
        """Return a whole text as it is tokenised."""
        return text if self._canonical is None else self._canonical.apply(text).text

    def hidden(self, space: Space) -> str:
        """Return the word that hides others."""
        return space.placeholder or self._hidden


class Vocabulary:
    """The tokens of each spelling; None where word and surroundings share a token."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._tokenizer = tokenizer
        self._known: dict[Spelling, Ids | None] = {}

    def learn(self, spellings: Iterable[Spelling]) -> None:
        """Ask the tokenizer for all new spellings at once."""
        new = list(dict.fromkeys(s for s in spellings if s not in self._known))
        if not new:
            return
        befores = [_BEFORE + spelling.left if spelling.left else "" for spelling in new]
        texts = [before + spelling.word for before, spelling in zip(befores, new, strict=True)]
        encoded = self._tokenizer(
            texts,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        for number, spelling in enumerate(new):
            ids, offsets = encoded["input_ids"][number], encoded["offset_mapping"][number]
            word = Word(spelling.word, len(befores[number]), len(texts[number]))
            (tokens,) = align(texts[number], [word], offsets, [0] * len(ids))
            self._known[spelling] = (
                tuple(ids[at] for at in tokens.positions) if tokens.exact else None
            )

    def of(self, spelling: Spelling) -> Ids | None:
        """Return the tokens of a spelling that was learnt."""
        return self._known[spelling]
