"""What an attack wants of the victim, as arithmetic on its log-probabilities (texts, classes)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.victim import LogProbabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Untargeted:
    """Any class but the right one."""

    def closeness(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return 1 - p(label): the higher, the nearer to the goal."""
        return 1.0 - np.exp(log_probabilities[:, label])

    def margin(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return what the right class has over the best other one; below 0 the goal is reached."""
        return _lead(log_probabilities, label)


@dataclass(frozen=True)
class Targeted:
    """One chosen class."""

    target: int
    """Code of the class."""

    def __post_init__(self) -> None:
        if self.target < 0:
            raise InputError(f"The target class is {self.target}; classes are counted from 0.")

    def closeness(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return p(target)."""
        return np.exp(log_probabilities[:, self.target])

    def margin(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return what the best other class has over the target."""
        return -_lead(log_probabilities, self.target)


@dataclass(frozen=True)
class ScoreDecrease:
    """The right class less likely than a bound, whatever class is then the likeliest."""

    below: float = 0.5
    """The bound on p(label)."""

    def __post_init__(self) -> None:
        if not 0 < self.below < 1:
            raise InputError(f"The bound is {self.below}; expected a probability within 0 and 1.")

    def closeness(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return 1 - p(label)."""
        return 1.0 - np.exp(log_probabilities[:, label])

    def margin(self, log_probabilities: LogProbabilities, label: int) -> Floats:
        """Return how far log p(label) still is above its bound."""
        above: Floats = log_probabilities[:, label] - np.log(self.below)
        return above


Goal = Untargeted | Targeted | ScoreDecrease


def _lead(log_probabilities: LogProbabilities, label: int) -> Floats:
    others = np.delete(log_probabilities, label, axis=1)
    lead: Floats = log_probabilities[:, label] - others.max(axis=1)
    return lead
