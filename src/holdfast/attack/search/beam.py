"""Beam search: in each step one more word is replaced, and the best few texts are kept."""

from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Ask, Found, Problem, Steps
from holdfast.errors import InputError


@dataclass(frozen=True)
class Beam:
    """With a width of 1 it is the greedy search that looks at every word anew in each step."""

    width: int = 8
    """Texts kept after each step."""
    max_changes: int | None = None
    """Words replaced at most; none: all that can be."""

    def __post_init__(self) -> None:
        if self.width < 1 or (self.max_changes is not None and self.max_changes < 1):
            raise InputError("The width of a beam and its most changes are 1 or more.")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search; nothing is random."""
        space = problem.space
        kept = space.original()[None]
        most = len(space.changeable)
        for _ in range(most if self.max_changes is None else min(most, self.max_changes)):
            unchanged = ([at for at in space.changeable if row[at] == 0] for row in kept)
            grown = [
                space.swaps(row, np.array(positions, dtype=np.int64))[0]
                for row, positions in zip(kept, unchanged, strict=True)
            ]
            rows = np.unique(np.concatenate(grown), axis=0)  # the same text from two others
            answer = yield Ask(rows)
            order = np.argsort(-problem.closeness(answer), kind="stable")
            reached = order[problem.reached(answer)[order]]
            if len(reached):
                return Found(rows[reached[0]], reached=True)
            kept = rows[order[: self.width]]
            kept = kept[answer.allowed[order[: self.width]]]
            if not len(kept):
                break
        return problem.failed()
