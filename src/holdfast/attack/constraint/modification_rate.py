"""At most a share of the words is replaced."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Comparison, Verdict
from holdfast.errors import InputError


@dataclass(frozen=True)
class ModificationRate:
    """Counts replaced words against all words that the attack can look at."""

    share: float
    """Words replaced at most, as a share; at least one word always may be."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"The modification rate is {self.share}; expected within 0 and 1.")

    @property
    def against_original(self) -> bool:
        """Always."""
        return True

    def judge(self, comparisons: Sequence[Comparison]) -> Sequence[Verdict]:
        """Allow the texts with few enough changes."""
        return [self._judge(comparison) for comparison in comparisons]

    def _judge(self, comparison: Comparison) -> Verdict:
        most = max(1, math.floor(self.share * len(comparison.space)))
        return Verdict(np.count_nonzero(comparison.rows, axis=1) <= most)
