"""A part of the cells: `--shard 2/4` on one machine, or one process of `accelerate launch`."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from holdfast.errors import InputError

T = TypeVar("T")

_LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""How a process learns that others run beside it."""


@dataclass(frozen=True)
class Shard:
    """The cells `index`, `index + count` and so on, counted from 1."""

    index: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise InputError(
                f"The shard {self.index}/{self.count} does not exist; they run from "
                f"1/{self.count} to {self.count}/{self.count}."
            )

    @classmethod
    def read(cls, text: str | None) -> "Shard":
        """Return the shard that `i/n` names; without a text, what a launcher says."""
        if text is None:
            rank, count = (int(os.environ.get(name, old)) for name, old in _DEFAULTS)
            return cls(rank + 1, count)
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None:
            raise InputError(f"The shard is {text!r}; expected two numbers such as 1/4.")
        return cls(int(found[1]), int(found[2]))

    def of(self, cells: Sequence[T]) -> list[T]:
        """Return this shard's part."""
        return list(cells[self.index - 1 :: self.count])


_DEFAULTS = (("RANK", "0"), ("WORLD_SIZE", "1"))


@contextmanager
def alone() -> Iterator[None]:
    """Work as a process that knows of no others, on the GPU that the launcher meant for it.

    Cells are spread, and each is trained by one process: it must not wait for the others.
    """
    before = dict(os.environ)
    place = os.environ.get("LOCAL_RANK")
    for name in _LAUNCHED:
        os.environ.pop(name, None)
    if place is not None:
        visible = [item for item in before.get("CUDA_VISIBLE_DEVICES", "").split(",") if item]
        chosen = visible[int(place) % len(visible)] if visible else place
        if before.get("CUDA_VISIBLE_DEVICES") != "":  # empty: no GPU is wanted
            os.environ["CUDA_VISIBLE_DEVICES"] = chosen
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
