"""What an attack needs of a classifier, whatever it is: a model, a checkpoint, a function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Words
from holdfast.victim.space import Rows, Space

LogProbabilities = NDArray[np.float64]
"""(texts, classes)"""
Tickets = NDArray[np.int64]

DECIMALS = 5
"""Log-probabilities are rounded before a search compares them.

A text is run in batches of a shape that depends on its own length alone, so that its neighbours
do not reach it. Should a library's kernel not keep to that, its last bits must still not decide
between two candidates that are equally good.
"""


class Reading(Protocol):
    """A text as the victim reads it."""

    @property
    def visible(self) -> tuple[int, ...]:
        """How many words of each text it reads; the rest is beyond its window."""


class Opened(Protocol):
    """A space made ready for queries."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A random number for each (position, choice), equal where the victim sees no difference.

        Choices count from 0; `DELETED` and `UNKNOWN` are the last two columns.
        """


@dataclass(frozen=True, eq=False)
class Query:
    """Texts of one space to be run, each with the ticket under which its answer comes back."""

    opened: Opened
    rows: Rows
    tickets: Tickets


class Session(Protocol):
    """Queries on their way through a victim; answers come back in any order."""

    def put(self, queries: Sequence[Query]) -> None:
        """Queue the queries."""

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Run what is due and return some answers; to be called while answers are owed."""

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""


class Victim(Protocol):
    """A classifier under attack."""

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""

    @property
    def noise(self) -> float:
        """How far a log-probability may move from one machine or batch to another."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever an answer may change."""

    def read(self, texts: Sequence[tuple[Words, ...]]) -> Sequence[Reading]:
        """Return how the victim reads each example."""

    def open(self, readings: Sequence[Reading], spaces: Sequence[Space]) -> Sequence[Opened]:
        """Make spaces ready, each with the reading of its example."""

    def session(self) -> Session:
        """Return a new queue for queries."""

    def score(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Answer for whole texts, from nothing but their characters."""
