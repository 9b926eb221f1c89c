"""A substitute is not much less likely than the word, to a causal language model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Substitutes
from holdfast.attack.goal import Floats
from holdfast.attack.sources import ModelFolder
from holdfast.errors import InputError
from holdfast.text import Words

_DECIMALS = 4  # so that the last bits of a kernel do not decide


@dataclass(frozen=True)
class LanguageModel:
    """Judges a few words around the substitute, in the original text."""

    model: ModelFolder
    before: int = 6
    """Words of the window before the word; Jia et al. have a radius of 6."""
    after: int = 6
    """Words of the window after it."""
    drop: float | None = 5.0
    """How far the window's log-probability may fall, this bound included; none: as far as it may.
    TextAttack's window of 6 is six words in all, and it refuses a fall of just 5."""
    best: int | None = None
    """Keep the likeliest so many, as Alzantot et al. do; none: all that do not fall too far."""

    def __post_init__(self) -> None:
        if min(self.before, self.after) < 0 or (self.best is not None and self.best < 1):
            raise InputError("A window has 0 or more words on a side, and 1 or more are kept.")

    def keep(self, text: Words, substitutes: Substitutes) -> Substitutes:
        """Return the substitutes that are likely enough, in their order."""
        from holdfast.attack.encoding import log_likelihoods  # torch is needed only here

        windows = [self._windows(text, at, found) for at, found in enumerate(substitutes)]
        asked = dict.fromkeys(window for of in windows for window in of)
        if not asked:
            return substitutes
        found = np.round(log_likelihoods(self.model, list(asked)), _DECIMALS)
        known = dict(zip(asked, found, strict=True))
        scores = [np.array([known[window] for window in of]) for of in windows]
        return [
            self._likely(found, score) for found, score in zip(substitutes, scores, strict=True)
        ]

    def _windows(self, text: Words, at: int, found: Sequence[str]) -> list[str]:
        """Return the window with the word itself, and with each substitute."""
        if not found:
            return []
        word, last = text.words[at], min(len(text) - 1, at + self.after)
        first = text.words[max(0, at - self.before)]
        left = text.text[first.start : word.start]
        right = text.text[word.end : text.words[last].end]
        return [left + spelt + right for spelt in (word.text, *found)]

    def _likely(self, found: tuple[str, ...], scores: Floats) -> tuple[str, ...]:
        if not found:
            return ()
        falls = scores[0] - scores[1:]
        kept = np.ones(len(found), dtype=np.bool_) if self.drop is None else falls <= self.drop
        if self.best is not None:
            kept &= np.argsort(np.argsort(falls, kind="stable"), kind="stable") < self.best
        return tuple(new for new, keep in zip(found, kept, strict=True) if keep)
