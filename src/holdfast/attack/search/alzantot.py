"""The genetic search of Alzantot et al., EMNLP 2018, after which those of that name are called.

It follows their released code, which is targeted; here the goal is whatever the attack's is.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Answer, Ask, Found, Problem, Steps
from holdfast.attack.goal import Floats
from holdfast.attack.search.best import best_of_each
from holdfast.errors import InputError
from holdfast.victim import Rows


@dataclass(frozen=True)
class Alzantot:
    """Members are texts; each step replaces one more word of a child, or none."""

    population: int = 60
    """Members of each generation."""
    iterations: int = 20
    """Generations."""
    temperature: float = 0.3
    """Parents are drawn by exp(p / temperature), p the probability of what the attack wants."""

    def __post_init__(self) -> None:
        if self.population < 2 or self.iterations < 1 or self.temperature <= 0:
            raise InputError(
                f"A population of {self.population} over {self.iterations} iterations at a "
                f"temperature of {self.temperature} was asked for; expected at least 2 members, 1 "
                "iteration and a temperature above 0."
            )

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search, with a new throw of the dice for every generation."""
        members = np.repeat(problem.space.original()[None], self.population, axis=0)
        members = yield from _perturbed(problem, members, rng)
        for _ in range(self.iterations):
            # All of them were run before: asking again costs nothing, and counts as released.
            answer = yield Ask(members)
            closeness = problem.closeness(answer)
            best = int(closeness.argmax())
            if problem.reached(answer)[best]:
                return Found(members[best], reached=True)
            children = self._crossover(members, closeness, rng)
            children = yield from _perturbed(problem, children, rng)
            members = np.concatenate([members[best : best + 1], children])
        return problem.failed()

    def _crossover(self, members: Rows, closeness: Floats, rng: np.random.Generator) -> Rows:
        """Draw two parents a child, and each word from one of them."""
        wheel = np.cumsum(np.exp((closeness - closeness.max()) / self.temperature))
        children = len(members) - 1
        drawn = rng.random((children, 2)) * wheel[-1]
        parents = np.minimum(np.searchsorted(wheel, drawn, side="right"), len(members) - 1)
        mine = rng.random((children, members.shape[1])) < 0.5
        made: Rows = np.where(mine, members[parents[:, 0]], members[parents[:, 1]])
        return made


def _perturbed(
    problem: Problem, members: Rows, rng: np.random.Generator
) -> Generator[Ask, Answer, Rows]:
    """Replace one word of each member by its best substitute, if that brings the goal nearer."""
    space = problem.space
    positions = _positions(problem, members, rng.random(len(members)))
    counts = space.sizes[positions]
    member = np.repeat(np.arange(len(members)), counts)
    choice = np.arange(len(member)) - (np.cumsum(counts) - counts)[member]
    rows = members[member]
    at = (np.arange(len(member)), positions[member])
    # In place of choice 0 the member as it is: a replacement is never taken back.
    rows[at] = np.where(choice == 0, rows[at], choice)
    closeness = problem.closeness((yield Ask(rows)))
    closeness[choice == 0] = np.maximum(closeness[choice == 0], -1.0)  # what is there may stay
    return rows[best_of_each(closeness, member)]


def _positions(problem: Problem, members: Rows, dice: Floats) -> NDArray[np.int64]:
    """Draw a word that was not replaced yet, by its number of substitutes; if there is one."""
    space = problem.space
    weights = np.where(members[:, space.changeable] == 0, space.sizes[space.changeable] - 1, 0)
    weights[~weights.any(axis=1)] = space.sizes[space.changeable] - 1
    wheel = np.cumsum(weights, axis=1)
    drawn = (wheel <= (dice * wheel[:, -1])[:, None]).sum(axis=1)
    found: NDArray[np.int64] = space.changeable[drawn]
    return found
