"""Queries on their way through a model: tokens are made here while the device computes."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.victim.lanes import Batch, Lanes
from holdfast.victim.splice import SplicedSpace, splice
from holdfast.victim.victim import DECIMALS, LogProbabilities, Query, Tickets

if TYPE_CHECKING:
    from holdfast.victim.model import ModelVictim

IN_THE_AIR = 2  # batches given to the device and not read back: one runs, one stands ready
FULL = 8_000_000  # tokens
_AT_ONCE = 500_000  # words spliced at once, to bound memory


class _Running(NamedTuple):
    """A batch on the device and where its answers will be."""

    tickets: Tickets
    answers: torch.Tensor
    done: "torch.cuda.Event | None"


class ModelSession:
    """One queue for each width, and the batches that were started."""

    def __init__(self, victim: "ModelVictim", lanes: Lanes) -> None:
        self._victim = victim
        self._lanes = lanes
        self._running: deque[_Running] = deque()

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""
        return self._lanes.waiting > FULL

    def put(self, queries: Sequence[Query]) -> None:
        """Queue the queries; those that can be spliced are, many at once."""
        group: list[Query] = []
        for query in queries:
            if not isinstance(query.opened, SplicedSpace):
                tokens = self._victim.tokenise_rows(query.opened.space, query.rows)  # type: ignore[attr-defined]
                self.put_tokens(tokens, query.tickets)
                continue
            if group and sum(q.rows.size for q in group) + query.rows.size > _AT_ONCE:
                self._put_spliced(group)
                group = []
            group.append(query)
        if group:
            self._put_spliced(group)

    def _put_spliced(self, queries: Sequence[Query]) -> None:
        pairs = [(q.opened, q.rows) for q in queries if isinstance(q.opened, SplicedSpace)]
        flat, lengths = splice(pairs)
        tickets = np.concatenate([query.tickets for query in queries])
        self._lanes.put(flat, lengths, pairs[0][0].tail, tickets)

    def put_tokens(self, tokens: Sequence[Sequence[int]], tickets: Tickets) -> None:
        """Queue texts that were tokenised, and cut, already."""
        lengths: NDArray[np.int64] = np.array([len(row) for row in tokens], dtype=np.int64)
        flat = np.fromiter((i for row in tokens for i in row), np.int32, count=int(lengths.sum()))
        self._lanes.put(flat, lengths, 0, tickets)

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
        device = self._victim.model.device
        tokens, lengths = torch.from_numpy(batch.tokens), torch.from_numpy(batch.lengths)
        if device.type != "cuda":
            answers = self._victim.forward(tokens.to(device), lengths.to(device)).cpu()
            self._running.append(_Running(batch.tickets, answers, None))
            return
        tokens = tokens.pin_memory().to(device, non_blocking=True)
        lengths = lengths.pin_memory().to(device, non_blocking=True)
        found = self._victim.forward(tokens, lengths)
        answers = torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
        answers.copy_(found, non_blocking=True)
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        self._running.append(_Running(batch.tickets, answers, done))
