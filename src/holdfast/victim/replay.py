"""A forward pass recorded once for each shape of batch and played again.

Python needs milliseconds to launch the kernels of a small model, and a GPU less to run them.
Batches have few shapes (see `lanes`), so each is recorded as a CUDA graph, and one launch plays
it. A model that looks at its own numbers on the way cannot be recorded: it is run as it is. The
solvers of a connection do not look while they are recorded, and take all their steps.
"""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from holdfast.solve.recording import Attempts, record, recording

Forward = Callable[[Tensor, Tensor], Tensor]

WORTH = 3  # batches of a shape before it is recorded, which takes as long as running two

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recording of one shape: what it reads, what it writes."""

    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    lengths: Tensor
    answers: Tensor


class Replay:
    """Runs batches on one GPU.

    Recordings share their memory, so the answers of one stand until the next is played: whoever
    wants them queues a copy on the same stream before that.
    """

    def __init__(self, forward: Forward, device: torch.device, *, possible: bool) -> None:
        """Take the forward pass; `possible`: it may be recorded, unless a trial shows otherwise."""
        self._forward, self._device = forward, device
        self._attempts = Attempts(possible=possible)
        self._recorded: dict[tuple[int, ...], Recorded] = {}
        self._seen: Counter[tuple[int, ...]] = Counter()
        self._pool: Any = None

    def __call__(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the answers for a batch in pinned memory, before they are computed."""
        with torch.cuda.device(self._device):
            shape = tuple(tokens.shape)
            if not self._seen and self._attempts.possible:
                # in which a connection may warn: nothing is looked at later
                self._forward(self._moved(tokens), self._moved(lengths))
            self._seen[shape] += 1
            often = self._seen[shape] >= WORTH
            wanted = often and self._attempts.due(shape, self._seen[shape])
            if shape not in self._recorded and wanted:
                self._record(tokens.to(self._device), lengths.to(self._device))
            if shape not in self._recorded:
                # as it will be recorded: a text must run the same way every time
                with recording() if self._attempts.possible else nullcontext():
                    return self._forward(self._moved(tokens), self._moved(lengths))
            recorded = self._recorded[shape]
            recorded.tokens.copy_(tokens, non_blocking=True)
            recorded.lengths.copy_(lengths, non_blocking=True)
            recorded.graph.replay()
            return recorded.answers

    def _moved(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device, non_blocking=True)

    def _record(self, tokens: Tensor, lengths: Tensor) -> None:
        """Record one shape, if that can be done."""

        def forward() -> Tensor:
            return self._forward(tokens, lengths)

        shape = tuple(tokens.shape)
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        try:
            graph, answers = record(forward, self._pool, warm_up=forward)
        except RuntimeError as error:
            # shapes that were recorded stay so: a text must run the same way every time
            again_at = 2 * self._seen[shape]
            told = self._attempts.broke_off(shape, error, again_at=again_at)
            _log.info("The model cannot be recorded on the GPU and runs as it is%s", told)
        else:
            self._recorded[shape] = Recorded(graph, tokens, lengths, answers)
