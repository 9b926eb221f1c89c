"""The corner of the convex hull: climb in mixtures of words, then take each word's heaviest.

What RIFT and ASCC train against (Dong et al., 2021), turned on the model that was trained.
"""

from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Ask, Found, Problem, Steps
from holdfast.attack.gauge import HullWeights
from holdfast.errors import InputError

_SEEDS = 2**31


@dataclass(frozen=True)
class Corner:
    """Replaces the words the hull is surest of first, so that as few as needed are replaced."""

    steps: int = 10
    """Steps of the ascent; RIFT's own evaluation takes 10."""
    restarts: int = 3
    """Ascents from other random points, as long as none succeeds; RIFT has one."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 1:
            raise InputError("An ascent has 1 step or more, and is tried once or more often.")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search from a few random points."""
        row = problem.space.original()
        for _ in range(self.restarts):
            seed = int(rng.random() * _SEEDS)
            look = yield Ask(row[None], probe=True, gauge=HullWeights(self.steps), seed=seed)
            assert look.merits is not None
            chosen = look.merits.argmax(axis=1)
            moved = np.flatnonzero(chosen)
            if not len(moved):
                continue
            gain = look.merits[moved, chosen[moved]] - look.merits[moved, 0]
            order = moved[np.argsort(-gain, kind="stable")]
            # The corner is the last of these texts; RIFT looks at no other.
            path = np.repeat(row[None], len(order), axis=0)
            taken = np.tril(np.ones((len(order), len(order)), dtype=np.bool_))
            path[:, order] = np.where(taken, chosen[order], 0)
            reached = problem.reached((yield Ask(path)))
            if reached.any():
                return Found(path[reached.argmax()], reached=True)
        return problem.failed()
