"""Substitutes from a lexicon."""

from dataclasses import dataclass
from typing import Literal

from holdfast.attack.core import Substitutes
from holdfast.errors import InputError
from holdfast.text import Lexicon, Words, like


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of each word in a lexicon."""

    lexicon: Lexicon
    limit: int = 8
    """Substitutes a word has at most, the nearest first."""
    case: Literal["carried", "exact"] = "carried"
    """Look words up in lower case and capitalise their substitutes alike; or look up only words
    that are in lower case, as RIFT's released code does."""

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"A word was to have {self.limit} substitutes; expected 1 or more.")

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        return [self._of(word.text) for word in text.words]

    def _of(self, word: str) -> tuple[str, ...]:
        if self.case == "exact" and word != word.lower():
            return ()
        found = self.lexicon.of(word)[: self.limit]
        return tuple(like(word, substitute) for substitute in found)
