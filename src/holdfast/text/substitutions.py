"""The settings of substitution; without torch, so that a command can show them at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError


@dataclass(frozen=True)
class Substitutions:
    """Which words may be replaced, by which, and how a text is read for it."""

    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the cached lexicon, or one built from WordNet."""
    mode: Literal["aligned", "word_level"] = "aligned"
    """The model's own tokens, or one token a word, [UNK] if unknown, as RIFT was released."""
    freeze_premise: bool = False
    """Of a pair only the second text is replaced in."""
    limit: int = 8
    """Substitutes a word has at most."""

    def __post_init__(self) -> None:
        if self.mode not in ("aligned", "word_level"):
            raise InputError(f"The mode is {self.mode!r}; expected aligned or word_level.")
        if self.limit < 1:
            raise InputError(f"A word was to have {self.limit} substitutes; expected 1 or more.")
