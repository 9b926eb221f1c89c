"""What a comparison of two models says, in numbers and in a sentence."""

from dataclasses import dataclass

from holdfast.statistics.interval import Interval

LEVEL = 0.05
FEW = 30
"""Fewer examples than this are said to be few."""


@dataclass(frozen=True)
class Comparison:
    """Two models on the same examples."""

    first: str
    second: str
    difference: Interval
    """Mean of the first less that of the second, as a number from -1 to 1."""
    p: float
    """How likely chance alone makes so great a difference; corrected where many are compared."""
    seeds: int
    """Training seeds of each; of the one that has fewer."""
    examples: int
    corrected_for: int = 1
    """Comparisons that were made at once, for which `p` is corrected by Holm's method."""

    @property
    def significant(self) -> bool:
        """Whether a difference can be told: p below 5 %, and an interval without zero."""
        return self.p < LEVEL and not self.difference.low <= 0 <= self.difference.high

    def sentence(self) -> str:
        """Return the finding in words; the better model is named first."""
        ahead = self.difference if self.difference.value >= 0 else -self.difference
        leader, other = (
            (self.first, self.second) if self.difference.value >= 0 else (self.second, self.first)
        )
        numbers = f"95 % interval {_points(ahead.low)} to {_points(ahead.high)}, {self._chance()}"
        by = f"by {_points(ahead.value)} points"
        if self.significant:
            than = f" than {other}" if self.corrected_for > 1 else ""
            finding = f"{leader} is better{than} {by}"
        elif ahead.low > 0 and self.corrected_for > 1:  # alone it might have been told
            among = f"among {self.corrected_for} comparisons"
            finding = f"{leader} is ahead of {other} {by}, but {among} chance may do that"
        else:
            lead = f"{leader} is ahead {by}" if ahead.value else "they score the same"
            finding = f"No difference between {self.first} and {self.second} can be told: {lead}"
        return f"{finding}, {numbers}, {self._basis()}"

    def _chance(self) -> str:
        p = f"p = {self.p:.2f}" if self.p >= 0.0995 else f"p = {self.p:.3f}"
        p = "p < 0.001" if self.p < 0.0005 else p
        many = f" (corrected for {self.corrected_for} comparisons)"
        return p + (many if self.corrected_for > 1 else "")

    def _basis(self) -> str:
        """Return on how much it stands: what is too little is said."""
        few = f"{self.examples} example{'s' * (self.examples > 1)} only, "
        seeds = f"{self.seeds} seeds"
        if self.seeds == 1:
            seeds = "1 seed: no spread over seeds can be given"
        return (few if self.examples < FEW else "") + seeds


def _points(share: float) -> str:
    """Return hundredths; a difference that is there is not rounded away."""
    digits = 1 if share == 0 or abs(share) >= 0.0005 else 2
    return f"{100 * share:z.{digits}f}"
