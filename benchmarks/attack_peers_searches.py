"""TextAttack's two searches as Holdfast writes them, so that like is compared with like.

They follow `GreedyWordSwapWIR("weighted-saliency")` and `AlzantotGeneticAlgorithm` of TextAttack
0.3.11, their slips included, and belong to no recipe: they exist for the benchmark.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.attack import UNKNOWN, Answer, Ask, Found, Problem, Steps
from holdfast.attack.search.best import best_of_each

Floats = NDArray[np.float64]
Rows = NDArray[np.int16]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class WeightedSaliency:
    """PWWS with the substitute of a word looked for anew, in the text as it then is."""

    stop_words: tuple[str, ...] = ()
    """Words that are not hidden either, when the worth of words is asked for."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search; nothing is random."""
        space, row = problem.space, problem.space.original()
        worth = yield from self._worth(problem)
        now = float(problem.closeness(problem.original)[0])
        for at in space.changeable[np.argsort(-worth, kind="stable")]:
            swaps, _ = space.swaps(row, np.array([at]))
            answer = yield Ask(swaps, reference=row)
            closeness, best = problem.closeness(answer), problem.closeness(answer).argmax()
            if closeness[best] > now:
                row, now = swaps[best], float(closeness[best])
                if problem.reached(answer)[best]:
                    return Found(row, reached=True)
        return problem.failed()

    def _worth(self, problem: Problem) -> Generator[Ask, Answer, Floats]:
        """Return the worth of each word that can change: TextAttack leaves out what was before."""
        space, row = problem.space, problem.space.original()
        asked = np.array(
            [at for at, own in enumerate(space.choices) if own[0] not in self.stop_words]
        )
        unknown = np.full(len(asked), UNKNOWN)
        hidden = problem.closeness((yield Ask(space.edits(row, asked, unknown), probe=True)))
        saliency = np.exp(hidden)  # the softmax's sum is the same for all, and orders nothing
        swaps, where = space.swaps(row, space.changeable)
        change = problem.closeness((yield Ask(swaps)))
        worth: Floats = saliency[np.isin(asked, space.changeable)] * np.array(
            [change[where == at].max() for at in space.changeable]
        )
        return worth


@dataclass(eq=False)
class _Herd:
    """The members of a generation, one a row."""

    rows: Rows
    closeness: Floats
    weights: Floats
    """(members, positions) how likely a word is drawn; 0 once it has changed."""

    def of(self, members: Ints) -> "_Herd":
        return _Herd(self.rows[members], self.closeness[members], self.weights[members])


@dataclass(frozen=True)
class DriftingGenetic:
    """TextAttack's genetic search: the worse members have more children."""

    population: int = 60
    """Members of each generation."""
    iterations: int = 40
    """Generations."""
    share: float | None = None
    """Words that a step may have changed at most, as a share; none: all. Mixing is free of it."""
    temperature: float = 0.3
    """Parents are drawn by exp(-closeness / temperature): so it stands in the code."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search, with a new throw of the dice for every generation."""
        space = problem.space
        weights = np.maximum(space.sizes - 1, 1).astype(np.float64)
        herd = _Herd(
            np.repeat(space.original()[None], self.population, axis=0),
            np.repeat(problem.closeness(problem.original), self.population),
            np.repeat(weights[None], self.population, axis=0),
        )
        yield from self._perturb(problem, herd, rng)
        for _ in range(self.iterations):
            best = int(herd.closeness.argmax())
            if herd.closeness[best] > 0.5:  # of two classes
                return Found(herd.rows[best], reached=True)
            children = self._mixed(herd, rng)
            children.closeness = problem.closeness((yield Ask(children.rows)))
            yield from self._perturb(problem, children, rng)
            elite = herd.of(np.array([best]))
            herd = _Herd(
                *(
                    np.concatenate([getattr(elite, name), getattr(children, name)])
                    for name in ("rows", "closeness", "weights")
                )
            )
        return problem.failed()

    def _mixed(self, herd: _Herd, rng: np.random.Generator) -> _Herd:
        chance = np.exp(-herd.closeness / self.temperature)
        children = self.population - 1
        first, second = (
            rng.choice(self.population, children, p=chance / chance.sum()) for _ in range(2)
        )
        one, other = herd.of(first), herd.of(second)
        theirs = rng.random(one.rows.shape) < 0.5
        rows = np.where(theirs, other.rows, one.rows)
        return _Herd(rows, one.closeness, np.where(theirs, other.weights, one.weights))

    def _perturb(
        self, problem: Problem, herd: _Herd, rng: np.random.Generator
    ) -> Generator[Ask, Answer, None]:
        """Change one word of each member, drawing until one brings the goal nearer."""
        weights = herd.weights.copy()
        left = np.count_nonzero(weights, axis=1)
        while len(active := np.flatnonzero(left > 0)):
            wheel = np.cumsum(weights[active], axis=1)
            dice = rng.random(len(active)) * wheel[:, -1]
            drawn = (wheel <= dice[:, None]).sum(axis=1)
            left[active] -= 1
            free = self._free(problem, herd.rows[active], drawn)
            active, drawn = active[free], drawn[free]
            if not len(active):
                continue
            rows, member = _swaps(problem, herd.rows[active], drawn)
            closeness = problem.closeness((yield Ask(rows)))
            best = best_of_each(closeness, member)
            better = closeness[best] > herd.closeness[active]
            weights[active, drawn] = 0
            moved, where = active[better], drawn[better]
            herd.rows[moved] = rows[best[better]]
            herd.closeness[moved] = closeness[best[better]]
            herd.weights[moved, where] = 0
            left[moved] = 0

    def _free(self, problem: Problem, rows: Rows, drawn: Ints) -> NDArray[np.bool_]:
        """Return which members may change the word that was drawn."""
        words = rows.shape[1]
        most = words if self.share is None else math.ceil(self.share * words)
        unchanged = rows[np.arange(len(rows)), drawn] == 0
        room = np.count_nonzero(rows, axis=1) < most
        free: NDArray[np.bool_] = unchanged & room & (problem.space.sizes[drawn] > 1)
        return free


def _swaps(problem: Problem, rows: Rows, drawn: Ints) -> tuple[Rows, Ints]:
    """Return every substitute of the drawn word of each member, and whose it is."""
    counts = problem.space.sizes[drawn] - 1
    member = np.repeat(np.arange(len(rows)), counts)
    choice = 1 + np.arange(len(member)) - (np.cumsum(counts) - counts)[member]
    made = rows[member]
    made[np.arange(len(member)), drawn[member]] = choice
    return made, member
