"""Whether work is being recorded for a GPU to play again.

A recording holds kernels and no decisions: while it is made, nothing may look at a number.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_recording: ContextVar[bool] = ContextVar("recording", default=False)


def is_recording() -> bool:
    """Whether the code that asks is being recorded."""
    return _recording.get()


@contextmanager
def recording() -> Iterator[None]:
    """Let everything inside know that it is being recorded."""
    token = _recording.set(True)
    try:
        yield
    finally:
        _recording.reset(token)
