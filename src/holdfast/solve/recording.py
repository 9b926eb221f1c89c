"""Whether work is being recorded for a GPU to play again.

A recording holds kernels and no decisions: while it is made, nothing may look at a number.
"""

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

import torch

T = TypeVar("T")
P = ParamSpec("P")

_recording: ContextVar[bool] = ContextVar("recording", default=False)


def is_recording() -> bool:
    """Whether the code that asks is being recorded."""
    return _recording.get()


@contextmanager
def recording(*, on: bool = True) -> Iterator[None]:
    """Let everything inside know that it is being recorded."""
    token = _recording.set(on)
    try:
        yield
    finally:
        _recording.reset(token)


def knowing(work: Callable[P, T]) -> Callable[P, T]:
    """Return `work`, which will know what is known here of recordings, whichever thread runs it.

    Autograd runs the backward passes of a GPU in a thread of its own, which knows nothing.
    """
    on = is_recording()

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with recording(on=on):
            return work(*args, **kwargs)

    return run


def record(
    work: Callable[[], T], pool: Any, *, warm_up: Callable[[], object]
) -> tuple[torch.cuda.CUDAGraph, T]:
    """Return a CUDA graph of `work`, and what it gave, which each playing writes anew.

    `warm_up` runs first: libraries choose kernels and take memory in the first passes. A
    RuntimeError says that the work cannot be recorded.
    """
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    before = torch.cuda.current_stream()
    aside.wait_stream(before)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.stream(aside), recording():
            warm_up()
        before.wait_stream(aside)
        with recording(), torch.cuda.graph(graph, pool=pool, stream=aside):
            found = work()
    finally:
        torch.cuda.set_stream(before)  # a recording that breaks off leaves its own behind
    return graph, found


class Attempts:
    """Whether recordings are tried, and of which shape not yet again.

    What cannot be recorded ends the attempts for good, a full card only for now: other processes
    may fill it, and leave it.
    """

    def __init__(self, *, possible: bool = True) -> None:
        self.possible = possible
        self._again_at: dict[Hashable, int] = {}

    def due(self, shape: Hashable, seen: int) -> bool:
        """Whether a shape that has come so often may be tried."""
        return self.possible and seen >= self._again_at.get(shape, 0)

    def broke_off(self, shape: Hashable, error: RuntimeError, *, again_at: int) -> str:
        """Note a failure and return how it is told; `again_at`: how often the shape must come."""
        self.possible = no_room(error)
        self._again_at[shape] = again_at
        return f"{', for now' if self.possible else ''} ({reason(error)})."


def release_memory() -> None:
    """Give back what a GPU holds for what is gone: recordings hold memory in circles."""
    gc.collect()
    torch.cuda.empty_cache()  # which does nothing where no GPU was used


def no_room(error: BaseException) -> bool:
    """Whether an error says, or came of one that says, that a GPU's memory is full."""
    full = isinstance(error, torch.OutOfMemoryError)
    # a context, a recording's end and cuBLAS have errors of their own for it
    told = "out of memory" in str(error) or "ALLOC_FAILED" in str(error)
    behind = error.__context__
    return full or told or (behind is not None and no_room(behind))


def reason(error: BaseException) -> str:
    """Return why something cannot be recorded: CUDA's errors go on for pages."""
    return str(error).strip().partition("\n")[0]
