"""A classifier that is ready in memory, with the name under which tables show it."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.evaluate.checkpoint import Checkpoint
from holdfast.victim import FunctionVictim, GivenVictim, Victim, as_victim

IN_MEMORY = Path("(in memory)")
"""Folder of the checkpoint that stands for such a classifier in records."""


@dataclass(frozen=True, eq=False)
class Named:
    """A victim, such as a `ModelVictim` or a `FunctionVictim`, and its row in a table."""

    name: str
    victim: Victim
    labels: tuple[str, ...] = ()
    """Names of its classes in its order; none: those of its model, or those of the task."""
    seed: int | None = None
    """Of its training; none: unknown."""

    @property
    def checkpoint(self) -> Checkpoint:
        """What stands for it in records."""
        return Checkpoint(self.name, IN_MEMORY, self.seed)

    def label_names(self) -> tuple[str, ...]:
        """Return a name for each class."""
        unnamed = tuple(map(str, range(self.victim.classes)))
        return self.labels or getattr(self.victim, "labels", unnamed)


def named(given: GivenVictim) -> Named:
    """Return a victim that nobody named: a function by its own name, another as `model`."""
    victim = as_victim(given)
    return Named(victim.name if isinstance(victim, FunctionVictim) else "model", victim)
