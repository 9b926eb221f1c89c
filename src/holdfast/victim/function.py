"""Any classifier behind a plain function: texts in, probabilities out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.victim.keys import choice_keys
from holdfast.victim.space import Space
from holdfast.victim.victim import DECIMALS, LogProbabilities, Opened, Query, Reading, Tickets

_LEAST = 1e-12  # log 0 would be no number
_SLACK = 1e-3  # how far a row of probabilities may be from a sum of 1
_FULL = 100_000  # texts


@dataclass(frozen=True)
class FunctionVictim:
    """A function as a victim; it is trusted with texts only, so every answer is checked."""

    function: Callable[[list[Any]], Any]
    """Takes a list of texts, or of tuples of two for pairs; returns (texts, classes)."""
    classes: int = 2
    """How many classes it tells apart."""
    name: str = "function"
    """Stands for the function in records: change it when the function changes."""
    batch_size: int = 256
    """Texts given to the function at once, at most."""
    max_words: int = 512
    """Words of a text that are attacked; the function is given all of them."""
    noise: float = 1e-4
    """How far a log-probability may move from one batch to another."""

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise InputError(
                f"A victim of {self.classes} classes was asked for; expected 2 or more."
            )
        if min(self.batch_size, self.max_words) < 1:
            raise InputError("A victim's batch_size and max_words are 1 or more.")

    @property
    def fingerprint(self) -> str:
        """The name and what the answers depend on."""
        return f"{self.name}, {self.classes} classes, {self.max_words} words"

    def read(self, texts: Sequence[tuple[Words, ...]]) -> Sequence[Reading]:
        """Return how many words of each text are attacked."""
        return [_Read(tuple(min(len(text), self.max_words) for text in of)) for of in texts]

    def open(self, readings: Sequence[Reading], spaces: Sequence[Space]) -> Sequence[Opened]:
        """Make spaces ready."""
        return [_OpenedTexts(space, all_different(space)) for space in spaces]

    def session(self) -> "_FunctionSession":
        """Return a new queue for queries."""
        return _FunctionSession(self)

    def score(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Answer for whole texts."""
        steps = range(0, len(texts), self.batch_size)
        parts = [self._answer(texts[at : at + self.batch_size]) for at in steps]
        return np.concatenate([np.empty((0, self.classes)), *parts])

    def _answer(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        given = [of[0] if len(of) == 1 else of for of in texts]
        answer = _as_array(self.function(given))
        if answer.shape != (len(texts), self.classes):
            raise InputError(
                f"The victim answered {len(texts)} texts with numbers of shape {answer.shape}; "
                f"expected ({len(texts)}, {self.classes}): a probability for each text and class."
            )
        sums = answer.sum(axis=1)
        if (answer < 0).any() or (np.abs(sums - 1) > _SLACK).any():  # false where not a number
            raise InputError(
                "The victim answered with numbers that are no probabilities (below 0, or with a sum"
                f" of {sums.max():.3g}); expected rows that sum to 1, such as those of a softmax."
            )
        logs: LogProbabilities = np.log(np.maximum(answer, _LEAST))
        return logs.round(DECIMALS)


def _as_array(answer: Any) -> NDArray[np.float64]:
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu()
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The victim's answer cannot be read as numbers ({error}); expected an array or a list "
            "of lists, one probability for each text and class."
        ) from error


@dataclass(frozen=True)
class _Read:
    visible: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _OpenedTexts:
    space: Space
    keys: NDArray[np.uint64]


def all_different(space: Space) -> NDArray[np.uint64]:
    """Return keys for a space of which no two texts are taken to be the same."""
    columns = int(space.sizes.max(initial=1)) + 2
    return choice_keys(np.broadcast_to(np.arange(columns), (len(space), columns)))


@dataclass(eq=False)
class _FunctionSession:
    """Texts are spelt out only when their turn has come."""

    victim: FunctionVictim
    _queue: dict[int, tuple[Space, NDArray[np.int16]]] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return len(self._queue) > _FULL

    def put(self, queries: Sequence[Query]) -> None:
        for query in queries:
            space = query.opened.space  # type: ignore[attr-defined]
            for ticket, row in zip(query.tickets.tolist(), query.rows, strict=True):
                self._queue[ticket] = (space, row)

    def take(self) -> tuple[Tickets, LogProbabilities]:
        due = list(islice(self._queue, self.victim.batch_size))
        rows = [self._queue.pop(ticket) for ticket in due]
        texts = [space.spelt(row) for space, row in rows]
        return np.array(due, dtype=np.int64), self.victim.score(texts)
