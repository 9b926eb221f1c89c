"""The most important words first, each by its best substitute, until the goal is reached."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.attack.core import Answer, Ask, Found, Problem, Steps
from holdfast.attack.goal import Floats
from holdfast.attack.search.importance import WAYS, Importance


@dataclass(frozen=True)
class Greedy:
    """One pass over the words; what differs between papers is a setting."""

    importance: Importance = "hidden"
    """What orders the words, once, on the original text."""
    prefer: Literal["strongest", "similar", "first"] = "strongest"
    """Of several substitutes that reach the goal: the one that is farthest beyond it, the one that
    the text constraints find most similar, or the first."""
    improve_on: Literal["current", "original"] = "current"
    """A word is only replaced if that brings the goal nearer than it is in this text."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search; nothing is random."""
        space, row = problem.space, problem.space.original()
        importance = yield from WAYS[self.importance](problem)
        first = now = float(problem.closeness(problem.original)[0])
        ranked = np.argsort(-importance[space.changeable], kind="stable")
        for at in space.changeable[ranked]:
            swaps, _ = space.swaps(row, np.array([at]))
            answer = yield Ask(swaps, reference=row)
            closeness, reached = problem.closeness(answer), problem.reached(answer)
            if reached.any():
                merit = np.where(reached, self._merit(closeness, answer), -np.inf)
                return Found(swaps[merit.argmax()], reached=True)
            best = closeness.argmax()
            if closeness[best] > (now if self.improve_on == "current" else first):
                row, now = swaps[best], float(closeness[best])
        return problem.failed()

    def _merit(self, closeness: Floats, answer: Answer) -> Floats:
        match self.prefer:
            case "strongest":
                return closeness
            case "similar":
                return answer.similarity
            case "first":
                return -np.arange(len(closeness), dtype=np.float64)
