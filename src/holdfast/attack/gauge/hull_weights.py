"""What weight each choice has where the convex hull of all choices is worst for the model."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.attack.core import Look
from holdfast.attack.goal import Floats


@dataclass(frozen=True)
class HullWeights:
    """Climbs in mixtures of token vectors; only words and substitutes of one token take part.

    The seed of a look is that of the point it begins at.
    """

    steps: int
    """Of the ascent."""

    def measure(self, looks: Sequence[Look]) -> list[Floats]:
        """Return (positions, choices) of each text; a position's weights sum to 1."""
        from holdfast.attack.gauge.mixtures import hull_weights  # torch is needed only here

        return hull_weights(looks, self.steps)
