"""HotFlip: the gradient says which replacement helps most, and the victim is asked to confirm it.

Ebrahimi, Rao, Lowd and Dou, ACL 2018, flip characters, and words in their appendix; here words.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Ask, Found, Problem, Steps
from holdfast.attack.gauge import FirstOrder
from holdfast.attack.goal import Floats
from holdfast.errors import InputError
from holdfast.victim import Row


@dataclass(frozen=True)
class HotFlip:
    """In each step the gradient ranks all replacements, and the best few are tried in turn."""

    tried: int = 16
    """Replacements the victim is asked about at once; the paper trusts the first alone. If none
    of them brings the goal nearer the next ones are tried, until there is none left."""

    def __post_init__(self) -> None:
        if self.tried < 1:
            raise InputError(f"{self.tried} replacements were to be tried; expected 1 or more.")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search; nothing is random."""
        space, row = problem.space, problem.space.original()
        now = float(problem.closeness(problem.original)[0])
        for _ in range(len(space.changeable)):
            look = yield Ask(row[None], probe=True, gauge=FirstOrder())
            assert look.merits is not None
            positions, choices = _ranked(look.merits, row)
            for first in range(0, len(positions), self.tried):
                part = slice(first, first + self.tried)
                rows = space.edits(row, positions[part], choices[part])
                answer = yield Ask(rows, reference=row)
                closeness, reached = problem.closeness(answer), problem.reached(answer)
                best = int(np.where(reached, closeness + 2, closeness).argmax())
                if reached[best]:
                    return Found(rows[best], reached=True)
                if closeness[best] > now:
                    row, now = rows[best], float(closeness[best])
                    break
            else:
                break
        return problem.failed()


def _ranked(merits: Floats, row: Row) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions and choices, the most promising first; words replaced before stay."""
    open_ones = np.where((row == 0)[:, None], merits, -np.inf)
    open_ones[:, 0] = -np.inf
    order = np.argsort(-open_ones, axis=None, kind="stable")
    order = order[np.isfinite(open_ones.ravel()[order])]
    positions, choices = np.unravel_index(order, merits.shape)
    return positions, choices
