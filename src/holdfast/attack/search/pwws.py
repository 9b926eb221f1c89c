"""Probability weighted word saliency: every word's best substitute, in one order, until it flips.

Ren, Deng, He and Che, ACL 2019, as their code and its port in RIFT do it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Ask, Found, Problem, Steps
from holdfast.attack.goal import Floats
from holdfast.attack.search.best import best_of_each
from holdfast.victim import UNKNOWN, Rows

_STRIDE = 16


@dataclass(frozen=True)
class PWWS:
    """Scores are taken once, on the original text, and never again."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search; nothing is random."""
        space, row = problem.space, problem.space.original()
        before = problem.closeness(problem.original)

        everywhere = np.arange(len(space))
        hidden = yield Ask(space.edits(row, everywhere, np.full(len(space), UNKNOWN)), probe=True)
        # the softmax runs over all words, also those that cannot be replaced
        saliency = _softmax(problem.closeness(hidden) - before)

        swaps, where = space.swaps(row, space.changeable)
        gain = problem.closeness((yield Ask(swaps))) - before
        best = best_of_each(gain, where)

        # words of negative score come last, and are replaced all the same
        score = saliency[where[best]] * gain[best]
        swaps_in_turn = best[np.argsort(-score, kind="stable")]
        return (yield from _walk(problem, where[swaps_in_turn], swaps[swaps_in_turn]))


def _walk(problem: Problem, positions: NDArray[np.int64], swaps: Rows) -> Steps:
    """Make one swap after the other until the goal is reached.

    The way is known beforehand, so the victim is asked for several steps at once; only those up
    to the first that reaches the goal count. Where that must not be, it is asked step by step.
    """
    row, stride = problem.space.original(), 1 if problem.one_by_one else _STRIDE
    for first in range(0, len(positions), stride):
        steps = positions[first : first + stride]
        taken = np.tril(np.ones((len(steps), len(steps)), dtype=np.bool_))
        path = np.repeat(row[None], len(steps), axis=0)
        chosen = swaps[np.arange(first, first + len(steps)), steps]
        path[:, steps] = np.where(taken, chosen, row[steps])
        answer = yield Ask(path, reference=row)
        reached = problem.reached(answer)
        if reached.any():
            at = int(reached.argmax())
            return Found(path[at], reached=True, ahead=len(steps) - 1 - at)
        row = path[-1] if answer.allowed[-1] else row
    return problem.failed()


def _softmax(values: Floats) -> Floats:
    weights = np.exp(values - values.max())
    softmax: Floats = weights / weights.sum()
    return softmax
