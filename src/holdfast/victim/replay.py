"""A forward pass recorded once for each shape of batch and played again.

Python needs milliseconds to launch the kernels of a small model, and a GPU less to run them.
Batches have few shapes (see `lanes`), so each is recorded as a CUDA graph, and one launch plays
it. A model that looks at its own numbers on the way, as one with a connection does, cannot be
recorded: it is run as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Forward = Callable[[Tensor, Tensor], Tensor]

WARM_UP = 2  # passes before the recording: libraries choose kernels and take memory in the first


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recording of one shape: what it reads, what it writes."""

    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    lengths: Tensor
    answers: Tensor


class Replay:
    """Runs batches on a GPU; the answers stand until the next batch of the same shape."""

    def __init__(self, forward: Forward, *, possible: bool) -> None:
        """Take the forward pass; `possible`: it may be recorded, unless a trial shows otherwise."""
        self._forward, self._possible = forward, possible
        self._recorded: dict[tuple[int, ...], Recorded] = {}
        self._pool = torch.cuda.graph_pool_handle() if possible else None

    def __call__(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the answers for a batch in pinned memory, before they are computed."""
        shape = tuple(tokens.shape)
        if self._possible and shape not in self._recorded:
            self._record(tokens, lengths)
        if not self._possible:
            return self._forward(tokens.cuda(non_blocking=True), lengths.cuda(non_blocking=True))
        recorded = self._recorded[shape]
        recorded.tokens.copy_(tokens, non_blocking=True)
        recorded.lengths.copy_(lengths, non_blocking=True)
        recorded.graph.replay()
        return recorded.answers

    def _record(self, tokens: Tensor, lengths: Tensor) -> None:
        tokens, lengths = tokens.cuda(), lengths.cuda()
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._forward(tokens, lengths)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                answers = self._forward(tokens, lengths)
        except RuntimeError:  # whatever a model does that a recording cannot hold
            self._possible = False
            return
        self._recorded[tuple(tokens.shape)] = Recorded(graph, tokens, lengths, answers)
