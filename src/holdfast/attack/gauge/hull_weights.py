"""What weight each choice has where the convex hull of all choices is worst for the model."""

from dataclasses import dataclass

from holdfast.attack.core import Look
from holdfast.attack.goal import Floats


@dataclass(frozen=True)
class HullWeights:
    """Climbs in mixtures of token vectors; only words and substitutes of one token take part."""

    steps: int
    """Of the ascent."""
    seed: int
    """Of the point it begins at."""

    def measure(self, look: Look) -> Floats:
        """Return (positions, choices); a position's weights sum to 1."""
        from holdfast.attack.gauge.inside import hull_weights  # torch is needed only here

        return hull_weights(look, self.steps, self.seed)
