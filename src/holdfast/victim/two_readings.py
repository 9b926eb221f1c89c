"""Queries that a model reads twice, in canonical form and in their own words: one answer for both.

The two readings of a query are rows of tokens like any others, told apart by a bit of their
tickets. So they share batches with all that is queued, here or in the process that runs the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Words
from holdfast.text.two_readings import blended
from holdfast.victim.model_session import TokenRows, encode
from holdfast.victim.reader import Reader
from holdfast.victim.reading import TokenReading
from holdfast.victim.space import Space
from holdfast.victim.victim import DECIMALS, LogProbabilities, Opened, Query, Session, Tickets

_OWN = np.int64(1) << np.int64(55)
"""In the ticket of the reading in a text's own words; above it stands the worker."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class ReadTwice:
    """An example in both readings."""

    visible: tuple[int, ...]
    """Words of each text that one of them reads."""
    canonical: TokenReading
    own: TokenReading


@dataclass(frozen=True, eq=False)
class OpenedTwice:
    """A space made ready in both readings."""

    keys: NDArray[np.uint64]
    """Equal where neither sees a difference."""
    canonical: Opened
    own: Opened


@dataclass(frozen=True, eq=False)
class TwoReadings:
    """Reads every text twice."""

    canonical: Reader
    own: Reader

    def read(self, texts: Sequence[tuple[Words, ...]]) -> list[ReadTwice]:
        """Return how the model reads each example."""
        pairs = zip(self.canonical.read(texts), self.own.read(texts), strict=True)
        return [ReadTwice(_either(one, other), one, other) for one, other in pairs]

    def open(self, readings: Sequence[ReadTwice], spaces: Sequence[Space]) -> list[OpenedTwice]:
        """Make spaces ready."""
        ones = self.canonical.open([reading.canonical for reading in readings], spaces)
        others = self.own.open([reading.own for reading in readings], spaces)
        pairs = zip(ones, others, strict=True)
        return [OpenedTwice(one.keys + other.keys * _ODD, one, other) for one, other in pairs]

    def encode(self, queries: Sequence[Query]) -> Iterator[TokenRows]:
        """Yield the tokens of queries, those of the other reading under other tickets."""
        twice = [(query, query.opened) for query in queries]
        ones = [replace(q, opened=of.canonical) for q, of in twice if isinstance(of, OpenedTwice)]
        others = [replace(q, opened=of.own) for q, of in twice if isinstance(of, OpenedTwice)]
        yield from encode(self.canonical, ones)
        for rows in encode(self.own, others):
            yield rows._replace(tickets=rows.tickets | _OWN)


def _either(one: TokenReading, other: TokenReading) -> tuple[int, ...]:
    return tuple(map(max, zip(one.visible, other.visible, strict=True)))


class JoinedSession:
    """Gives an answer when both readings of a query have theirs."""

    def __init__(self, session: Session, classes: int, trust: float) -> None:
        self._session, self._trust = session, trust
        self._tickets: Tickets = np.empty(0, dtype=np.int64)
        self._answers: LogProbabilities = np.empty((0, classes))

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""
        return self._session.full

    def put(self, queries: Sequence[Query]) -> None:
        """Queue the queries."""
        self._session.put(queries)

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Return the answers that have become whole; to be called while answers are owed."""
        tickets, answers = self._join(*self._session.take())
        while not len(tickets):  # their other halves are under way
            tickets, answers = self._join(*self._session.take())
        return tickets, answers

    def _join(
        self, tickets: Tickets, answers: LogProbabilities
    ) -> tuple[Tickets, LogProbabilities]:
        tickets = np.concatenate([self._tickets, tickets])
        answers = np.concatenate([self._answers, answers])
        # the canonical reading of a query, then its other one
        order = np.lexsort((tickets & _OWN, tickets & ~_OWN))
        tickets, answers = tickets[order], answers[order]
        whole = np.zeros(len(tickets), dtype=np.bool_)
        whole[1:] = (tickets[1:] & ~_OWN) == (tickets[:-1] & ~_OWN)
        second = np.flatnonzero(whole)
        whole[second - 1] = True
        self._tickets, self._answers = tickets[~whole], answers[~whole]
        mixed = blended(answers[second - 1], answers[second], self._trust)
        return tickets[second - 1], np.round(mixed, DECIMALS)
