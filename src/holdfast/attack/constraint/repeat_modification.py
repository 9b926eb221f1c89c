"""A word that was replaced stays as it then is."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.attack.core import Comparison, Verdict


@dataclass(frozen=True)
class RepeatModification:
    """Each word is replaced once at most, and no replacement is taken back.

    Substitutes always are those of the original word, with this constraint and without: words do
    not drift from neighbour to neighbour.
    """

    @property
    def against_original(self) -> bool:
        """Never: what was replaced is seen from the text before."""
        return False

    def judge(self, comparisons: Sequence[Comparison]) -> Sequence[Verdict]:
        """Allow the texts that keep what their reference replaced."""
        return [
            Verdict(((of.rows == of.reference) | (of.reference == 0)).all(axis=1))
            for of in comparisons
        ]
