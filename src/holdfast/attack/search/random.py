"""Random search: what an attack must beat."""

from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Ask, Found, Problem, Steps
from holdfast.errors import InputError

_AT_ONCE = 100


@dataclass(frozen=True)
class RandomSearch:
    """Texts in which the choice at every position is drawn, all equally likely."""

    tries: int = 1000
    """Texts drawn at most."""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise InputError(f"{self.tries} tries were asked for; expected 1 or more.")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search in blocks; of a block that holds several the first is taken."""
        sizes = problem.space.sizes
        for done in range(0, self.tries, _AT_ONCE):
            count = min(_AT_ONCE, self.tries - done)
            rows = (rng.random((count, len(sizes))) * sizes).astype(np.int16)
            reached = problem.reached((yield Ask(rows)))
            if reached.any():
                return Found(rows[reached.argmax()], reached=True)
        return problem.failed()
