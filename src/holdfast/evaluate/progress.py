"""How an evaluation is watched."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from holdfast.record import Outcome, RunRecord

Watch = Callable[[Outcome], None]


class Progress(Protocol):
    """Told how an evaluation goes."""

    def expect(self, cells: int) -> None:
        """Learn how many cells there are in all."""

    def cell(self, title: str, examples: int, attacks: int = 1) -> AbstractContextManager[Watch]:
        """Learn that a cell begins, and give what is told each outcome of its attacks."""

    def done(self, record: RunRecord, path: Path, *, before: bool) -> None:
        """Learn that a cell is done; `before`: an earlier run did it."""


class Silent:
    """Says nothing."""

    def expect(self, cells: int) -> None:
        """Say nothing."""

    def cell(self, title: str, examples: int, attacks: int = 1) -> AbstractContextManager[Watch]:
        """Say nothing."""
        return nullcontext(lambda outcome: None)

    def done(self, record: RunRecord, path: Path, *, before: bool) -> None:
        """Say nothing."""
