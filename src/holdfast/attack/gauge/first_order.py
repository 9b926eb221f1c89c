"""What each replacement would do to the loss, as far as its gradient tells."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.attack.core import Look
from holdfast.attack.goal import Floats


@dataclass(frozen=True)
class FirstOrder:
    """(e_new - e_old) . dloss/de, summed over the tokens of a word.

    Of a word, or a substitute, of several tokens the mean of its vectors stands for each of them.
    """

    def measure(self, looks: Sequence[Look]) -> list[Floats]:
        """Return (positions, choices) of each text."""
        from holdfast.attack.gauge.inside import first_order  # torch is needed only here

        return first_order(looks)
