"""Substitutes from several sources."""

from dataclasses import dataclass

from holdfast.attack.core import Substitutes, Transformation
from holdfast.text import Words


@dataclass(frozen=True)
class AnyOf:
    """The substitutes of the first source, then those of the next that are new."""

    sources: tuple[Transformation, ...]

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        found = [source.substitutes(text) for source in self.sources]
        return [
            tuple(dict.fromkeys(new for source in found for new in source[at]))
            for at in range(len(text))
        ]
