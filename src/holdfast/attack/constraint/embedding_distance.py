"""A substitute's vector is near that of the word."""

from dataclasses import dataclass
from typing import Literal

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import VectorFile
from holdfast.attack.vectors import read_vectors
from holdfast.errors import InputError
from holdfast.text import Words


@dataclass(frozen=True)
class EmbeddingDistance:
    """Bounds on the vectors of a word and its substitute, in a file of the user's."""

    vectors: VectorFile
    cosine: float | None = None
    """At least; none: no bound."""
    squared_distance: float | None = None
    """At most; none: no bound. Alzantot's 0.5, which TextAttack calls a mean squared error."""
    unknown: Literal["keep", "drop"] = "drop"
    """What becomes of a substitute where it, or the word, has no vector."""

    def __post_init__(self) -> None:
        if self.cosine is None and self.squared_distance is None:
            raise InputError("No bound was given; say a least cosine or a largest distance.")

    def keep(self, text: Words, substitutes: Substitutes) -> Substitutes:
        """Return the substitutes that are near."""
        return [
            tuple(new for new in found if self._near(word.text, new))
            for word, found in zip(text.words, substitutes, strict=True)
        ]

    def _near(self, word: str, new: str) -> bool:
        known = read_vectors(self.vectors)
        cosine, distance = known.cosine(word, new), known.squared_distance(word, new)
        if cosine is None or distance is None:
            return self.unknown == "keep"
        return (self.cosine is None or cosine >= self.cosine) and (
            self.squared_distance is None or distance <= self.squared_distance
        )
