"""One example under way: its search, what was asked so far, and what is known already."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Answer, Ask, Attack, Found, Problem, Verdict
from holdfast.attack.goal import Floats, Targeted
from holdfast.data import Example
from holdfast.errors import RunFailed
from holdfast.record import Outcome, Status
from holdfast.victim import LogProbabilities, Opened, Query, Row, Rows, Space, Tickets, row_keys

SHIFT = 32
"""A ticket is the number of the flight, shifted, and the number of the text in its memory."""

Attempt = Generator[Ask, Answer, tuple[Status, Found | None]]


def attempt(attack: Attack, space: Space, label: int, rng: np.random.Generator) -> Attempt:
    """Look at the example as it is, then search; return what became of it."""
    original = yield Ask(space.original()[None], probe=True)
    if int(original.log_probabilities[0].argmax()) != label:
        return "skipped", None
    if leaves_alone(attack, space, label):
        return "untouched", None
    one_by_one = bool(attack.text_constraints) or attack.max_queries is not None
    problem = Problem(space, label, attack.goal, original, one_by_one)
    found: Found = yield from attack.search(problem, rng)
    return "succeeded" if found.reached else "failed", found


def leaves_alone(attack: Attack, space: Space, label: int) -> bool:
    """Whether there is nothing to search: no word may change, or it is after the right class."""
    own_class = isinstance(attack.goal, Targeted) and attack.goal.target == label
    return own_class or not len(space.changeable)


@dataclass(eq=False)
class Flight:
    """The search of one example, fed with answers until it ends."""

    number: int
    example: Example
    space: Space
    opened: Opened
    steps: Attempt
    max_queries: int | None
    ask: Ask | None = None
    queries: int = 0
    owed: int = 0
    """Texts that were sent to the victim and did not come back yet."""
    merits: Floats | None = None
    """What was measured inside the victim for the ask."""
    outcome: Outcome | None = None
    """Set when the flight is over."""
    _spent: bool = False
    """Whether a part of the last ask was beyond the most queries allowed."""
    _slots: dict[int, int] = field(default_factory=dict)
    """Where in `_known` the answer for a row key stands."""
    _known: LogProbabilities = field(default_factory=lambda: np.empty((0, 0)))
    _asked: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _verdict: Verdict = field(default_factory=lambda: Verdict(np.empty(0, dtype=np.bool_)))

    @property
    def forwards(self) -> int:
        """Different texts that were run."""
        return len(self._slots)

    def question(self, verdict: Verdict) -> Query | None:
        """Return what of the ask is new and allowed; None when all of it is known."""
        assert self.ask is not None
        rows = self.ask.rows[verdict.allowed]
        self._verdict = verdict
        self.queries += len(rows)
        known = len(self._slots)
        keys = row_keys(self.opened.keys, rows).tolist()
        slots = self._slots
        self._asked = np.fromiter(
            (slots.setdefault(key, len(slots)) for key in keys), np.int64, count=len(keys)
        )
        new, first = np.unique(self._asked, return_index=True)
        new, first = new[new >= known], first[new >= known]
        self.owed = len(new)
        if not len(new):
            return None
        return Query(self.opened, rows[first], (self.number << SHIFT) + new)

    def within_budget(self, verdict: Verdict) -> Verdict | None:
        """Return what of the ask may still be put to the victim; None where that is of no use.

        The rest counts as not allowed, and the search goes no further than the answer. A probe of
        which a part is missing tells nothing, and no text of it could be a success.
        """
        left = math.inf if self.max_queries is None else self.max_queries - self.queries
        if verdict.allowed.sum() <= left:
            return verdict
        if not left or self.ask is None or self.ask.probe:
            return None
        self._spent = True
        return replace(verdict, allowed=verdict.allowed & (verdict.allowed.cumsum() <= left))

    def give_up(self) -> None:
        """End a search that would ask for more than it may."""
        self.end("failed", note=f"Given up at the limit of {self.max_queries} queries.")

    def learn(self, tickets: Tickets, answers: LogProbabilities) -> None:
        """Remember answers from the victim."""
        if len(self._known) < len(self._slots):
            room = max(len(self._slots), 2 * len(self._known))
            grown = np.full((room, answers.shape[1]), np.nan)
            grown[: len(self._known)] = self._known.reshape(-1, answers.shape[1])
            self._known = grown
        self._known[tickets & ((1 << SHIFT) - 1)] = answers
        self.owed -= len(tickets)

    def advance(self) -> None:
        """Begin the search, or send it the answer it waits for; then see what it asks next."""
        try:
            if self.ask is None:
                self.ask = next(self.steps)
                return
            answer = self._answer(self._verdict)
            if np.isnan(answer.log_probabilities[answer.allowed]).any():
                self.end("unanswered", note="The victim answered with something that is no number.")
                return
            self.ask = self.steps.send(answer)
        except StopIteration as stop:
            status, found = stop.value
            if not self._spent or status == "succeeded":
                self.end(status, found)
                return
        if self._spent:
            self.give_up()

    def _answer(self, verdict: Verdict) -> Answer:
        count, classes = len(verdict.allowed), self._known.shape[1]
        answers = np.zeros((count, classes))
        answers[verdict.allowed] = self._known[self._asked]
        similarity = np.ones(count) if verdict.similarity is None else verdict.similarity
        return Answer(answers, verdict.allowed, similarity, self.merits)

    def end(self, status: Status, found: Found | None = None, note: str = "") -> None:
        """Write down what became of the example."""
        self.steps.close()
        self.queries -= found.ahead if found else 0
        row = found.row if found and found.reached else None
        known: dict[str, object] = {}
        if status != "unanswered":
            known |= _seen("", self._look_up(self.space.original()))
        if row is not None:
            known |= _seen("adversarial_", self._look_up(row))
            known |= {"adversarial": self.space.spelt(row), "changes": self.space.changes(row)}
        self.outcome = Outcome(
            self.example.id,
            self.example.texts,
            self.example.label,
            status,
            **{"prediction": None, **known},  # type: ignore[arg-type]
            words=len(self.space),
            queries=self.queries,
            forwards=self.forwards,
            note=note,
        )

    def _look_up(self, row: Row) -> NDArray[np.float64]:
        slot = self._slots.get(int(row_keys(self.opened.keys, row[None])[0]))
        if slot is None:
            raise RunFailed("The search returned a text that it never asked for; mend the search.")
        answer: NDArray[np.float64] = self._known[slot]
        return answer


def _seen(name: str, answer: NDArray[np.float64]) -> dict[str, object]:
    found = {"prediction": int(answer.argmax()), "probabilities": rounded(answer.tolist())}
    return {name + key: value for key, value in found.items()}


def all_allowed(rows: Rows) -> Verdict:
    """Return the verdict where there is nothing to judge."""
    return Verdict(np.ones(len(rows), dtype=np.bool_))


def rounded(log_probabilities: Sequence[float]) -> tuple[float, ...]:
    """Return probabilities with as many digits as can be trusted."""
    return tuple(round(math.exp(value), 4) for value in log_probabilities)
