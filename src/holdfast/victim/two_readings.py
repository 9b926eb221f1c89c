"""Queries that a model reads twice, in canonical form and in their own words: one answer for both.

The two readings of a query are rows of tokens like any others, told apart by a bit of their
tickets. So they share batches with all that is queued, here or in the process that runs the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Words
from holdfast.text.two_readings import Blend
from holdfast.victim.keys import row_keys
from holdfast.victim.model_session import TokenRows, encode
from holdfast.victim.reader import Reader
from holdfast.victim.reading import TokenReading
from holdfast.victim.space import Space
from holdfast.victim.victim import DECIMALS, LogProbabilities, Opened, Query, Tickets

_OWN = 1 << 55
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


def _either(one: TokenReading, other: TokenReading) -> tuple[int, ...]:
    return tuple(map(max, zip(one.visible, other.visible, strict=True)))


class RowSession(Protocol):
    """Rows of tokens on their way through a model, here or in another process."""

    def put_rows(self, rows: TokenRows) -> None:
        """Queue them."""

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Run what is due and return some answers."""

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""


class _Canonical(NamedTuple):
    """The canonical texts of one space, by their keys."""

    answers: dict[int, LogProbabilities | None]
    """None: it is under way."""
    waiting: dict[int, list[tuple[int, LogProbabilities]]]
    """The answers on own words, with their tickets, that want this one."""


_Asked = dict[int, tuple[_Canonical, int]]
"""Ticket to the canonical text of its query."""


class JoinedSession:
    """Gives an answer when both readings of a query have theirs.

    Many queries of an attack are one text in canonical form: that is run once.
    """

    def __init__(self, session: RowSession, readings: TwoReadings, blend: Blend) -> None:
        self._session, self._readings, self._blend = session, readings, blend
        self._known: WeakKeyDictionary[OpenedTwice, _Canonical] = WeakKeyDictionary()
        self._leading: _Asked = {}
        self._own: _Asked = {}

    @property
    def full(self) -> bool:
        """Whether so much is queued that more would only take memory."""
        return self._session.full

    def put(self, queries: Sequence[Query]) -> None:
        """Queue the queries, each canonical text with the first that has it."""
        twice = [(query, query.opened) for query in queries]
        pairs = [(query, opened) for query, opened in twice if isinstance(opened, OpenedTwice)]
        new = [_part(query, opened, self._note(query, opened)) for query, opened in pairs]
        for rows in encode(self._readings.canonical, [query for query in new if len(query.rows)]):
            self._session.put_rows(rows)
        own = [replace(query, opened=opened.own) for query, opened in pairs]
        for rows in encode(self._readings.own, own):
            self._session.put_rows(rows._replace(tickets=rows.tickets | _OWN))

    def _note(self, query: Query, opened: OpenedTwice) -> list[int]:
        """Remember what is asked; return which rows are new in canonical form."""
        known = self._known.setdefault(opened, _Canonical({}, {}))
        keys = row_keys(opened.canonical.keys, query.rows).tolist()
        new = []
        for at, (ticket, key) in enumerate(zip(query.tickets.tolist(), keys, strict=True)):
            self._own[ticket] = known, key
            if key not in known.answers:
                known.answers[key] = None
                self._leading[ticket] = known, key
                new.append(at)
        return new

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Return the answers that have become whole; to be called while answers are owed."""
        whole: list[tuple[int, LogProbabilities, LogProbabilities]] = []
        while not whole:  # their other halves are under way
            whole = list(self._join(*self._session.take()))
        tickets, canonical, own = zip(*whole, strict=True)
        mixed = self._blend(np.array(canonical), np.array(own))
        return np.array(tickets, dtype=np.int64), np.round(mixed, DECIMALS)

    def _join(
        self, tickets: Tickets, answers: LogProbabilities
    ) -> Iterator[tuple[int, LogProbabilities, LogProbabilities]]:
        """Yield the tickets that have both answers now, with these."""
        for marked, answer in zip(tickets.tolist(), answers, strict=True):
            if not marked & _OWN:
                known, key = self._leading.pop(marked)
                known.answers[key] = answer
                for ticket, own in known.waiting.pop(key, ()):
                    yield ticket, answer, own
                continue
            ticket = marked & ~_OWN
            known, key = self._own.pop(ticket)
            canonical = known.answers[key]
            if canonical is None:
                known.waiting.setdefault(key, []).append((ticket, answer))
            else:
                yield ticket, canonical, answer


def _part(query: Query, opened: OpenedTwice, rows: Sequence[int]) -> Query:
    """Return some rows of a query in canonical form."""
    return Query(opened.canonical, query.rows[rows], query.tickets[rows])
