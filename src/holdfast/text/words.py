"""A text and its words: spans into the string the user gave, which is never normalised.

A word is a run of letters, digits and the marks on them, with apostrophes or hyphens inside
(`don't`, `well-made`). Punctuation is no word. Substituting splices the string, so all that was
not substituted stays as it was, byte for byte.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.errors import InputError

_LAST_MARK = 0x1F000  # beyond the last script that writes marks on its letters


class Word(NamedTuple):
    """One word and where it stands: `whole[start:end] == text`."""

    text: str
    start: int
    end: int


def _pattern() -> re.Pattern[str]:
    # `\w` leaves out combining marks, without which a decomposed é would end its word.
    marks = "".join(
        chr(code) for code in range(0x300, _LAST_MARK) if unicodedata.category(chr(code))[0] == "M"
    )
    run = rf"[^\W_](?:[^\W_]|[{marks}])*"  # one way to read each character: no search back
    return re.compile(rf"{run}(?:['’\-‐‑]{run})*")  # noqa: RUF001 - the typographic ones, meant


_WORD = _pattern()


def split_words(text: str) -> tuple[Word, ...]:
    """Return the words of `text` in order; any text will do."""
    return tuple(Word(found[0], *found.span()) for found in _WORD.finditer(text))


def is_one_word(text: str) -> bool:
    """Return whether the whole of `text` is read as a single word."""
    return _WORD.fullmatch(text) is not None


def like(original: str, substitute: str) -> str:
    """Return `substitute` capitalised as `original` is: FILM or Film; else unchanged."""
    if original.isupper() and sum(map(str.isupper, original)) > 1:
        return substitute.upper()
    if original[:1].isupper():
        return substitute[:1].upper() + substitute[1:]
    return substitute


@dataclass(frozen=True)
class Words:
    """A text that cannot be changed, with its words; `str()` gives the text."""

    text: str
    """The text, as it was given."""
    words: tuple[Word, ...]
    """Its words, in order."""

    @classmethod
    def of(cls, text: str) -> "Words":
        """Split `text`."""
        return cls(text, split_words(text))

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.words)

    def replaced(self, substitutes: Mapping[int, str]) -> "Words":
        """Return the text with the words at these indices spelt as given, all else untouched.

        Every word keeps its index, even where splitting the new text afresh would count anew.
        """
        unknown = [index for index in substitutes if not 0 <= index < len(self.words)]
        if unknown:
            raise InputError(
                f"Word {unknown[0]} was to be replaced in a text of {len(self.words)} words; "
                "words are counted from 0."
            )
        pieces: list[str] = []
        words: list[Word] = []
        done = length = 0  # read so far in the old text, written so far in the new one
        for index, old in enumerate(self.words):
            between = self.text[done : old.start]
            new, start = substitutes.get(index, old.text), length + len(between)
            pieces += (between, new)
            done, length = old.end, start + len(new)
            words.append(Word(new, start, length))
        return Words("".join([*pieces, self.text[done:]]), tuple(words))
