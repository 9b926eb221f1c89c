"""The one loop behind every solver that only evaluates g: `FixedPoint`, `Anderson`, `Broyden`.

A solver is its update rule; stopping, keeping the best point and dropping finished examples
are the same for all and live here.
"""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from holdfast.solve.recording import is_recording
from holdfast.solve.solution import Map, Solution, at_least_float32, per_example, relative_size

_WORTH_DROPPING = 0.5
"""Share of unfinished examples below which a smaller batch repays the cost of making it."""
_SHARE_AFTER_RISE = 0.5
"""Of the way from the best point to the proposed one, after a proposal made things worse."""


class Update(Protocol):
    """The state of one solve: given the newest image and residual g(x) - x, where to look next."""

    def __call__(self, image: Tensor, residual: Tensor) -> Tensor:
        """Return the next point."""

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
    point, best, evaluations = start, _Best(start, tolerance), 0
    while True:
        image = g(point)
        evaluations += 1
        residual = image - point
        best.offer(point, image, residual)
        if evaluations >= max_steps:
            return best.solution(evaluations)
        # proposed before asking who is finished: the device works on while the host waits for it
        point = best.safeguard(update(image, residual))
        if is_recording():  # nobody may be asked, and finished examples do not move
            continue
        unfinished = best.count_unfinished()
        if unfinished == 0:
            return best.solution(evaluations)
        if unfinished <= _WORTH_DROPPING * len(point) and isinstance(g, Narrowable):
            rows = best.rows_unfinished()
            if (narrowed := g.narrow(rows)) is not None:
                g, point = narrowed, point[rows]
                update.narrow(rows)
                best.narrow(rows)


class _Best:
    """The best point of each example; of those still worked on, once the batch is narrowed."""

    def __init__(self, start: Tensor, tolerance: float) -> None:
        self.tolerance = tolerance
        self.value = start
        self.residual = at_least_float32(start.new_full((len(start),), torch.inf))
        self.better = self.unfinished = torch.ones_like(self.residual, dtype=torch.bool)
        # made once: a bare number in `torch.where` is copied to the device at every step
        self.shares = (start.new_ones(()), start.new_full((), _SHARE_AFTER_RISE))
        self.start_residual: Tensor | None = None
        self.whole: tuple[Tensor, Tensor] | None = None  # value and residual before narrowing
        self.rows: Tensor | None = None  # where the examples worked on stand in the whole batch

    def offer(self, point: Tensor, image: Tensor, residual: Tensor) -> None:
        """Take `point` for each example where it is better, unless the example is finished."""
        size = relative_size(residual, image).detach()
        self.better = (size < self.residual) & self.unfinished  # not-a-number counts as worse
        self.value = torch.where(per_example(self.better, point), point, self.value)
        self.residual = torch.where(self.better, size, self.residual)
        self.unfinished = self.residual > self.tolerance
        if self.start_residual is None:
            self.start_residual = size

    def safeguard(self, proposal: Tensor) -> Tensor:
        """Return the proposal, or half the way to it where the last one made things worse."""
        share = torch.where(self.better, *self.shares)
        return torch.lerp(self.value, proposal, per_example(share, proposal))

    def count_unfinished(self) -> int:
        """Return how many examples are left; this waits for the device."""
        return int(self.unfinished.sum())

    def rows_unfinished(self) -> Tensor:
        """Return the places of the examples that are left."""
        return self.unfinished.nonzero().flatten()

    def narrow(self, rows: Tensor) -> None:
        """Go on with some examples; the others have their final value."""
        self._write_back()
        self.rows = rows if self.rows is None else self.rows[rows]
        self.value, self.residual = self.value[rows], self.residual[rows]
        self.better, self.unfinished = self.better[rows], self.unfinished[rows]

    def _write_back(self) -> None:
        if self.whole is None or self.rows is None:
            self.whole = (self.value, self.residual)
            return
        value, residual = self.whole
        self.whole = (
            value.index_put((self.rows,), self.value),
            residual.index_put((self.rows,), self.residual),
        )

    def solution(self, evaluations: int) -> Solution:
        """Return what was found for the whole batch."""
        self._write_back()
        assert self.whole is not None and self.start_residual is not None
        value, residual = self.whole
        return Solution(
            value=value,
            residual=residual,
            start_residual=self.start_residual,
            evaluations=evaluations,
            products=0,
            converged=residual <= self.tolerance,
        )
