"""The genetic search of Jia, Raghunathan, Göksel and Liang, EMNLP 2019.

It follows `genetic_attack` of their released code, which RIFT and ASCC report under "genetic".
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from holdfast.attack.core import Answer, Ask, Found, Problem, Steps
from holdfast.attack.goal import Floats
from holdfast.attack.search.best import best_of_each
from holdfast.errors import InputError
from holdfast.victim import Rows

_LEAST = 1e-6  # so that every member can become a parent


@dataclass(frozen=True)
class Genetic:
    """Members are texts; the fittest of them have children, and the best one lives on."""

    population: int = 60
    """Members of each generation."""
    iterations: int = 40
    """Generations."""

    def __post_init__(self) -> None:
        if self.population < 2 or self.iterations < 1:
            raise InputError(
                f"A population of {self.population} over {self.iterations} iterations was asked "
                "for; expected at least 2 members and 1 iteration."
            )

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search, with a new throw of the dice for every generation."""
        members = np.repeat(problem.space.original()[None], self.population, axis=0)
        members, margins = yield from _perturbed(problem, members, rng)
        for _ in range(self.iterations):
            best = margins.argmin()
            # Looked at here and nowhere else: the children of the last generation never are.
            if margins[best] < 0:
                return Found(members[best], reached=True)
            children = _crossover(members, margins, self.population - 1, rng)
            children, theirs = yield from _perturbed(problem, children, rng)
            members = np.concatenate([members[best : best + 1], children])
            margins = np.concatenate([margins[best : best + 1], theirs])
        return problem.failed()


def _perturbed(
    problem: Problem, members: Rows, rng: np.random.Generator
) -> Generator[Ask, Answer, tuple[Rows, Floats]]:
    """Draw one position a member, and take the best of all choices there, the word itself too."""
    space = problem.space
    drawn = rng.random(len(members)) * len(space.changeable)
    positions = space.changeable[drawn.astype(np.int64)]
    counts = space.sizes[positions]
    member = np.repeat(np.arange(len(members)), counts)
    first = np.cumsum(counts) - counts
    rows = members[member]
    choice = np.arange(len(member)) - first[member]
    rows[np.arange(len(member)), positions[member]] = choice
    margins = problem.margin((yield Ask(rows)))
    best = best_of_each(-margins, member)
    return rows[best], margins[best]


def _crossover(members: Rows, margins: Floats, children: int, rng: np.random.Generator) -> Rows:
    """Draw two parents a child, the fitter the likelier, and each word from one of them."""
    fitness = np.exp(-np.logaddexp(0.0, margins)) + _LEAST  # sigmoid(-margin)
    wheel = np.cumsum(fitness) / fitness.sum()
    parents = np.searchsorted(wheel, rng.random((children, 2)), side="right")
    parents = np.minimum(parents, len(members) - 1)  # the wheel's last value may round below 1
    mine = rng.random((children, members.shape[1])) < 0.5
    return np.where(mine, members[parents[:, 0]], members[parents[:, 1]])
