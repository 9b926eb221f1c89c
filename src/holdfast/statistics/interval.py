"""A number and what chance leaves open about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A number with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __neg__(self) -> "Interval":
        """Return the same seen from the other side: of a difference, that of the second."""
        return Interval(-self.value, -self.high, -self.low)

    def within(self, lowest: float, highest: float) -> "Interval":
        """Return the interval without what the number cannot be; the number stays inside it."""
        low, high = max(lowest, self.low), min(highest, self.high)
        return Interval(self.value, min(low, self.value), max(high, self.value))
