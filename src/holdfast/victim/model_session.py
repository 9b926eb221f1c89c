"""Queries on their way through a model: tokens are made here while the device computes."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.victim.lanes import Batch, Lanes
from holdfast.victim.reader import Reader
from holdfast.victim.splice import SplicedSpace, parted, splice
from holdfast.victim.victim import DECIMALS, LogProbabilities, Query, Tickets
from holdfast.victim.vocabulary import Tokens

IN_THE_AIR = 2  # batches given to the device and not read back: one runs, one stands ready
FULL = 8_000_000  # tokens
_AT_ONCE = 500_000  # words spliced at once, to bound memory


class TokenRows(NamedTuple):
    """Texts as tokens, one behind the other."""

    flat: Tokens
    lengths: NDArray[np.int64]
    """Of each text."""
    tail: int
    """Special tokens at the end of each, which stay when it is cut; 0: they were cut already."""
    tickets: Tickets


class _Running(NamedTuple):
    """A batch on the device and where its answers will be."""

    tickets: Tickets
    answers: torch.Tensor
    done: "torch.cuda.Event | None"


Run = Callable[[Batch], torch.Tensor]


class ModelSession:
    """One queue for each width, and the batches that were started."""

    def __init__(self, reader: Reader, run: Run, lanes: Lanes) -> None:
        self._reader, self._run = reader, run
        self._lanes = lanes
        self._running: deque[_Running] = deque()

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""
        return self._lanes.waiting > FULL

    @property
    def due(self) -> bool:
        """Whether a batch is full, or runs already."""
        return bool(self._running) or self._lanes.ready

    @property
    def owing(self) -> bool:
        """Whether there are queries without an answer."""
        return bool(self._lanes.waiting or self._running)

    def put(self, queries: Sequence[Query]) -> None:
        """Queue the queries."""
        for rows in encode(self._reader, queries):
            self.put_rows(rows)

    def put_rows(self, rows: TokenRows) -> None:
        """Queue texts that are tokens already."""
        self._lanes.put(*rows)

    def put_all(self, many: Sequence[TokenRows]) -> None:
        """Queue the same from several sources, at once where it is cut alike."""
        for tail in {rows.tail for rows in many}:
            alike = [rows for rows in many if rows.tail == tail]
            flat = np.concatenate([rows.flat for rows in alike])
            lengths = np.concatenate([rows.lengths for rows in alike])
            tickets = np.concatenate([rows.tickets for rows in alike])
            self._lanes.put(flat, lengths, tail, tickets)

    def take_all(self, count: int, classes: int) -> LogProbabilities:
        """Return all answers that are owed, in the order of their tickets, which count from 0."""
        answers = np.empty((count, classes))
        while count:
            tickets, found = self.take()
            answers[tickets] = found
            count -= len(tickets)
        return answers

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Start what is due and return the answers of the batch that was started first."""
        while len(self._running) < IN_THE_AIR and (batch := self._lanes.full()) is not None:
            self._start(batch)
        if not self._running and (batch := self._lanes.fullest()) is not None:
            self._start(batch)
        first = self._running.popleft()
        if first.done is not None:
            first.done.synchronize()
        answers = first.answers[: len(first.tickets)].double().numpy()
        return first.tickets, np.round(answers, DECIMALS)

    def _start(self, batch: Batch) -> None:
        """Give a batch to the device; on a GPU this returns before it is computed."""
        found = self._run(batch)
        if not found.is_cuda:
            self._running.append(_Running(batch.tickets, found.cpu(), None))
            return
        with torch.cuda.device(found.device):
            answers = torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
            answers.copy_(found, non_blocking=True)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        self._running.append(_Running(batch.tickets, answers, done))


def encode(reader: Reader, queries: Sequence[Query]) -> Iterator[TokenRows]:
    """Yield queries as tokens: those that can be spliced are, many at once."""
    group: list[Query] = []
    for query, rest in map(parted, queries):
        if rest is not None:
            space = rest.opened.space  # type: ignore[attr-defined]
            yield token_rows(reader.tokenise_rows(space, rest.rows), rest.tickets)
        if query is None:
            continue
        if group and sum(q.rows.size for q in group) + query.rows.size > _AT_ONCE:
            yield _spliced(group)
            group = []
        group.append(query)
    if group:
        yield _spliced(group)


def _spliced(queries: Sequence[Query]) -> TokenRows:
    pairs = [(q.opened, q.rows) for q in queries if isinstance(q.opened, SplicedSpace)]
    flat, lengths = splice(pairs)
    tickets = np.concatenate([query.tickets for query in queries])
    return TokenRows(flat, lengths, pairs[0][0].tail, tickets)


def token_rows(tokens: Sequence[Sequence[int]], tickets: Tickets) -> TokenRows:
    """Return texts that were tokenised, and cut, one by one."""
    lengths: NDArray[np.int64] = np.array([len(row) for row in tokens], dtype=np.int64)
    flat = np.fromiter((i for row in tokens for i in row), np.int32, count=int(lengths.sum()))
    return TokenRows(flat, lengths, 0, tickets)
