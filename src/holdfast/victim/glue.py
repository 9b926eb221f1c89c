"""Where a word cannot be exchanged by its tokens alone: what stands beside it has a say.

WordPiece and byte-level BPE first cut a text into chunks, mostly at white space and punctuation,
and a word's tokens are its own where it is a chunk. Else a text is tokenised as a whole: where a
sign that is no punctuation touches the word, where a choice itself ends in a sign and touches
another, where brackets around a choice could make a special token of it, in byte-level BPE behind
an apostrophe, and, unless the text is cut as BERT's is, where a word is left out, because what
stood around it may merge.
"""

import string
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Words
from holdfast.victim.space import Space

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SIGNS = frozenset(string.punctuation)


@dataclass(frozen=True)
class Glue:
    """What a tokenizer reads across the edges of words."""

    exchanges: bool
    """Whether words can be exchanged by their tokens at all."""
    merges: bool
    """Whether what stood around a word that is left out, or hidden, may merge."""
    connects: bool
    """Whether `_` and its like are letters to it."""
    contracts: bool
    """Whether an apostrophe may take a word's first letters, as in `'m|ovie` for `I'm`."""
    special: tuple[str, ...]
    """Texts that are one token wherever they stand."""

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerBase") -> "Glue":
        """Return what is known of a tokenizer; of an unknown kind nothing can be exchanged."""
        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        kind = "" if backend is None else type(backend.model).__name__
        cuts = None if backend is None else backend.pre_tokenizer
        by_word = kind in ("WordPiece", "WordLevel") and type(cuts).__name__ == "Whitespace"
        by_sign = kind == "WordPiece" and type(cuts).__name__ == "BertPreTokenizer"
        whole_bytes = kind == "BPE" and "ByteLevel" in repr(cuts)
        right = tokenizer.truncation_side == "right"
        return cls(
            exchanges=right and (by_word or by_sign or whole_bytes),
            merges=not by_sign,  # others keep signs together that have met
            connects=by_word,
            contracts=whole_bytes,
            special=tuple({*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}),
        )

    def holds(
        self, texts: Sequence[Words], space: Space, spell: Callable[[str], str], hidden: str
    ) -> NDArray[np.bool_] | None:
        """Return (positions, choices) that have to be read with what is around; none: no choice.

        The last two choices are the word left out, and the one that hides it.
        """
        columns = int(space.sizes.max(initial=1)) + 2
        found = np.zeros((len(space), columns), dtype=np.bool_)
        for at, (number, index) in enumerate(space.places):
            words = texts[number]
            word = words.words[index]
            around = _around(words.text, word.start, word.end)
            spelt = [spell(choice) for choice in space.choices[at][1:]]
            found[at, 1 : 1 + len(spelt)] = [self._held(around, choice) for choice in spelt]
            found[at, columns - 2] = self.merges or self._held(around, "")
            found[at, columns - 1] = self.merges or self._held(around, spell(hidden))
        return found if found.any() else None

    def _held(self, around: tuple[str, str], choice: str) -> bool:
        before, after = around[0][-1:], around[1][:1]
        if self._sticks(before) or self._sticks(after) or (self.contracts and before == "'"):
            return True
        edges = (before and not choice[:1].isalnum()) or (after and not choice[-1:].isalnum())
        if choice and edges:
            return True
        chunk = around[0] + choice + around[1]
        return any(special in chunk for special in self.special)

    def _sticks(self, sign: str) -> bool:
        """Whether a character is neither nothing nor punctuation, at which every chunk ends."""
        if not sign:
            return False
        kind = unicodedata.category(sign)
        if kind == "Pc":
            return self.connects
        return sign not in _SIGNS and not kind.startswith("P")


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands before and behind a word up to white space."""
    first, last = start, end
    while first and not _is_space(text[first - 1]):
        first -= 1
    while last < len(text) and not _is_space(text[last]):
        last += 1
    return text[first:start], text[end:last]


def _is_space(sign: str) -> bool:
    """Whether every tokenizer ends a chunk there.

    Other control characters are space to Python, and BERT leaves them out before it cuts.
    """
    return sign in "\t\n\r" or unicodedata.category(sign).startswith("Z")
