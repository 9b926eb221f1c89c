"""Token rows queued by width, and run in batches of a shape that depends on the width alone.

A text always runs in a batch of the same shape, whoever its neighbours are: every kernel then
does the same arithmetic on it, and its answer does not depend on what else was asked. Rows of
one width wait for each other until a batch is full, so little is run in vain.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.victim.victim import Tickets
from holdfast.victim.vocabulary import Tokens

FEWEST_ROWS = 16
"""Of a batch: with fewer, the kernels of a CPU are slower, and not always the same."""

Lane = tuple[int, bool]
"""A width, and whether its rows fill it: a batch holds only such or only others."""


class Batch(NamedTuple):
    """One forward pass."""

    tokens: Tokens
    """(capacity, width); rows beyond the tickets are copies of the first, to fill the shape."""
    lengths: NDArray[np.int64]
    """(capacity,) tokens of each row that are no padding."""
    tickets: Tickets

    def part(self, rows: slice) -> "Batch":
        """Return some of the rows."""
        return Batch(self.tokens[rows], self.lengths[rows], self.tickets[rows])

    def filled(self, capacity: int) -> "Batch":
        """Return the batch with copies of its first row up to its capacity."""
        more = np.zeros(capacity - len(self.tickets), dtype=np.int64)
        tokens = np.concatenate([self.tokens, self.tokens[more]])
        return Batch(tokens, np.concatenate([self.lengths, self.lengths[more]]), self.tickets)


def _joined(parts: Sequence[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return Batch(
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.tickets for part in parts]),
    )


@dataclass(frozen=True)
class Shape:
    """How token rows are cut, padded and gathered."""

    max_length: int
    """Longer rows are cut, but for the `tail` of special tokens at their end."""
    batch_tokens: int
    """Tokens of a batch, padding included; never fewer than 16 rows, however wide."""
    multiple: int
    """Widths are multiples of it: fewer different ones, for more padding."""
    padding: int
    """Token that fills a row."""
    fill: bool = True
    """Whether a batch always runs at its capacity; else `SteadyRows` keeps its answers the same."""

    def widths(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the width at which rows of these lengths are run.

        A row has at least one padding token unless it fills the model's window or widths are not
        rounded: libraries leave a mask out when a batch needs none, and so compute otherwise.
        """
        step = self.multiple
        rounded = lengths if step == 1 else (lengths // step + 1) * step
        return np.maximum(np.minimum(rounded, self.max_length), 1)

    def capacity(self, width: int) -> int:
        """Return how many rows of a width make a batch."""
        return max(FEWEST_ROWS, self.batch_tokens // width)


@dataclass(eq=False)
class Lanes:
    """One queue for each width."""

    shape: Shape
    waiting: int = 0
    """Tokens queued."""
    _lanes: dict[Lane, list[Batch]] = field(default_factory=dict)
    _rows: Counter[Lane] = field(default_factory=Counter)

    def put(self, flat: Tokens, lengths: NDArray[np.int64], tail: int, tickets: Tickets) -> None:
        """Queue rows that lie one behind the other in `flat`; each ends in `tail` specials."""
        first = np.cumsum(lengths) - lengths
        kept = np.minimum(lengths, self.shape.max_length)
        widths = self.shape.widths(kept)
        lane = 2 * widths + (kept == widths)
        for name in np.unique(lane).tolist():
            rows = np.flatnonzero(lane == name)
            width = name // 2
            column = np.arange(width)
            inside = column < kept[rows, None]
            # what was cut lies before the special tokens at the end
            behind = column >= (kept[rows, None] - tail)
            skipped = np.where(behind, (lengths - kept)[rows, None], 0)
            where = np.where(inside, first[rows, None] + column + skipped, 0)
            tokens = np.where(inside, flat[where], np.int32(self.shape.padding))
            self.waiting += len(rows) * width
            key = (width, bool(name % 2))
            self._rows[key] += len(rows)
            self._lanes.setdefault(key, []).append(Batch(tokens, kept[rows], tickets[rows]))

    @property
    def ready(self) -> bool:
        """Whether there is a full batch."""
        return self._nearest()[0] >= 1

    def full(self) -> Batch | None:
        """Take a full batch, if there is one."""
        fill, lane = self._nearest()
        return self._take(lane) if fill >= 1 else None

    def fullest(self) -> Batch | None:
        """Take the batch that is nearest to being full, and fill it up; None: nothing waits."""
        fill, lane = self._nearest()
        return self._take(lane) if fill > 0 else None

    def _nearest(self) -> tuple[float, Lane]:
        fills = ((self._rows[lane] / self.shape.capacity(lane[0]), lane) for lane in self._lanes)
        return max(fills, default=(0.0, (0, False)))

    def _take(self, lane: Lane) -> Batch:
        rows, capacity = _joined(self._lanes.pop(lane)), self.shape.capacity(lane[0])
        if len(rows.tickets) > capacity:
            self._lanes[lane] = [rows.part(slice(capacity, None))]
            rows = rows.part(slice(capacity))
        self.waiting -= len(rows.tickets) * lane[0]
        self._rows[lane] -= len(rows.tickets)
        short = self.shape.fill and len(rows.tickets) < capacity
        return rows.filled(capacity) if short else rows
