"""The one loop behind every solver that only evaluates g: `FixedPoint`, `Anderson`, `Broyden`.

A solver is its update rule; stopping, keeping the best point and dropping finished examples
are the same for all and live here.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from holdfast.solve.solution import Map, Solution, per_example, relative_residual

_WORTH_DROPPING = 0.5
"""Share of unfinished examples below which a smaller batch repays the cost of making it."""


class Update(Protocol):
    """The state of one solve: given the newest pair, where to look next."""

    def __call__(self, point: Tensor, image: Tensor, rose: Tensor) -> Tensor:
        """Return the next point; `rose` marks examples whose residual got worse."""

    def narrow(self, rows: Tensor) -> None:
        """Forget every example but `rows`."""


@runtime_checkable
class Narrowable(Protocol):
    """A map that can be restricted to some examples of its batch."""

    def __call__(self, point: Tensor, /) -> Tensor:
        """Return the image of `point`."""

    def narrow(self, rows: Tensor) -> Map | None:
        """Return the map of these examples alone, or None when it cannot be had."""


def iterate(g: Map, start: Tensor, update: Update, tolerance: float, max_steps: int) -> Solution:
    """Evaluate g at most `max_steps` times and return the best point seen of each example.

    An example is finished at the first point within `tolerance` and never moves again, so that
    its value does not depend on the company it keeps in the batch.
    """
    search = _Best(start)
    rows: Tensor | None = None  # the examples still worked on; None means all of them
    point = start
    for evaluations in range(1, max_steps + 1):
        image = g(point)
        rose = search.offer(point, image, rows, tolerance)
        if evaluations == max_steps or search.finished():
            break
        if (keep := search.worth_keeping(rows)) is not None and isinstance(g, Narrowable):
            if (narrowed := g.narrow(keep)) is not None:
                g, point, image, rose = narrowed, point[keep], image[keep], rose[keep]
                rows = keep if rows is None else rows[keep]
                update.narrow(keep)
        point = update(point, image, rose)
    return search.solution(evaluations)


class _Best:
    """The best point of each example of the whole batch, whatever part is being worked on."""

    def __init__(self, start: Tensor) -> None:
        self.value = start
        self.residual: Tensor | None = None
        self.start_residual: Tensor | None = None
        self.done: Tensor | None = None

    def offer(self, point: Tensor, image: Tensor, rows: Tensor | None, tolerance: float) -> Tensor:
        """Take `point` where it is better than the best; return where it is worse."""
        residual = relative_residual(point, image)
        if self.residual is None:
            self.residual = self.start_residual = residual.detach()
            better = torch.zeros_like(residual, dtype=torch.bool)
            rose = better
        else:
            best = self.residual if rows is None else self.residual[rows]
            rose = ~(residual < best)
            better = ~rose if rows is not None else ~rose & ~self._done()
            self._take(point, residual.detach(), better, rows)
        self.done = self.residual <= tolerance
        return rose

    def _take(self, point: Tensor, residual: Tensor, better: Tensor, rows: Tensor | None) -> None:
        assert self.residual is not None
        if rows is not None:
            chosen = rows[better]
            self.value = self.value.index_put((chosen,), point[better])
            self.residual = self.residual.index_put((chosen,), residual[better])
            return
        self.value = torch.where(per_example(better, point), point, self.value)
        self.residual = torch.where(better, residual, self.residual)

    def _done(self) -> Tensor:
        assert self.done is not None
        return self.done

    def finished(self) -> bool:
        return bool(self._done().all())

    def worth_keeping(self, rows: Tensor | None) -> Tensor | None:
        """Return the positions, within the current batch, of the unfinished few; else None."""
        done = self._done() if rows is None else self._done()[rows]
        left = (~done).nonzero().flatten()
        return left if len(left) <= _WORTH_DROPPING * len(done) else None

    def solution(self, evaluations: int) -> Solution:
        assert self.residual is not None and self.start_residual is not None
        return Solution(
            value=self.value,
            residual=self.residual,
            start_residual=self.start_residual,
            evaluations=evaluations,
            products=0,
            converged=self._done(),
        )


Solve = Callable[[Map, Tensor], Solution]
