"""A model as the workers of an attack see it: they make tokens, another process runs them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.text import Words
from holdfast.victim.model_session import TokenRows, encode
from holdfast.victim.reader import Reader
from holdfast.victim.space import Space
from holdfast.victim.victim import LogProbabilities, Opened, Query, Reading, Session, Tickets

if TYPE_CHECKING:
    from holdfast.victim.model import ModelVictim

Send = Callable[[TokenRows], None]
Receive = Callable[[], tuple[Tickets, LogProbabilities]]
_FULL = 50_000  # texts sent and not answered


class DistantVictim:
    """Reads texts as the model does, and sends their tokens away."""

    def __init__(self, victim: "ModelVictim", send: Send, receive: Receive) -> None:
        self._victim, self._send, self._receive = victim, send, receive
        self.classes, self.noise = victim.classes, victim.noise
        self.fingerprint = "the same as that of the process which runs the model"

    def read(self, texts: Sequence[tuple[Words, ...]]) -> Sequence[Reading]:
        """Return how the model reads each example."""
        return self._victim.read(texts)

    def open(self, readings: Sequence[Reading], spaces: Sequence[Space]) -> Sequence[Opened]:
        """Make spaces ready."""
        return self._victim.open(readings, spaces)

    def session(self) -> Session:
        """Return a new queue for queries."""
        return self._victim.joined(DistantSession(self._victim.reader, self._send, self._receive))

    def score(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Refuse: no search asks for whole texts."""
        raise NotImplementedError("A worker has no model to run whole texts on.")


class DistantSession:
    """Queries that were sent away."""

    def __init__(self, reader: Reader, send: Send, receive: Receive) -> None:
        self._reader, self._send, self._receive = reader, send, receive
        self._owed = 0

    @property
    def full(self) -> bool:
        """Whether so much is under way that more would only take memory."""
        return self._owed > _FULL

    def put(self, queries: Sequence[Query]) -> None:
        """Send the queries."""
        for rows in encode(self._reader, queries):
            self.put_rows(rows)

    def put_rows(self, rows: TokenRows) -> None:
        """Send texts that are tokens already."""
        self._owed += len(rows.tickets)
        self._send(rows)

    def take(self) -> tuple[Tickets, LogProbabilities]:
        """Wait for answers, and take all that are there."""
        tickets, answers = self._receive()
        self._owed -= len(tickets)
        return tickets, answers
