"""The words of an attack: a search asks, is answered, and returns what it found.

A search is a generator that knows neither model nor device nor text: it yields rows of choices
and is sent log-probabilities. Who runs it merges the questions of many searches into full
batches, so an algorithm is written as the straight line of its paper.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.goal import Floats, Goal, Untargeted
from holdfast.errors import InputError
from holdfast.record import encode
from holdfast.text import Words
from holdfast.victim import LogProbabilities, Opened, Row, Rows, Space, Victim

Substitutes = Sequence[tuple[str, ...]]
"""The substitutes of each word of a text, the best first; empty for a word that stays."""


@dataclass(frozen=True, eq=False)
class Ask:
    """Texts whose log-probabilities a search wants to know."""

    rows: Rows
    """(texts, positions)"""
    probe: bool = False
    """Whether the texts only tell what a word is worth: no constraint is put to them."""
    reference: Row | None = None
    """The text they were made from, for constraints that compare with it; none: the original."""
    gauge: "Gauge | None" = None
    """What to measure inside the victim at the first of the texts; none: it stays closed."""
    seed: int = 0
    """Of what the gauge draws."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What the victim says of the texts of an `Ask`."""

    log_probabilities: LogProbabilities
    """(texts, classes); of a text that is not allowed it means nothing."""
    allowed: NDArray[np.bool_]
    """(texts,) whether every text constraint holds; the others were never run."""
    similarity: Floats
    """(texts,) the least score a text constraint gave; 1 where none gives any."""
    merits: Floats | None = None
    """(positions, choices) what the `gauge` measured; none where there was none."""


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search ended."""

    row: Row
    reached: bool
    """Whether the goal is reached there."""
    ahead: int = 0
    """Texts that were asked for before their turn, to fill batches, and whose turn never came:
    they do not count as queries."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a search is given: one example that the victim gets right, and what to make of it."""

    space: Space
    label: int
    goal: Goal
    original: Answer
    """The victim's answer for the example as it is: one text."""
    one_by_one: bool = False
    """Whether no text may be asked for before its turn: a constraint may turn the step before it
    down, or queries are limited."""

    def closeness(self, answer: Answer) -> Floats:
        """Return how near each text is to the goal, from 0 to 1; -inf if it is not allowed."""
        near = self.goal.closeness(answer.log_probabilities, self.label)
        return np.where(answer.allowed, near, -np.inf)

    def margin(self, answer: Answer) -> Floats:
        """Return how far each text is from the goal, reached below 0; inf if not allowed."""
        far = self.goal.margin(answer.log_probabilities, self.label)
        return np.where(answer.allowed, far, np.inf)

    def reached(self, answer: Answer) -> NDArray[np.bool_]:
        """Return which texts reach the goal."""
        return self.margin(answer) < 0

    def failed(self) -> Found:
        """Return that nothing was found."""
        return Found(self.space.original(), reached=False)


Steps = Generator[Ask, Answer, Found]


@dataclass(frozen=True, eq=False)
class Look:
    """A text that a gauge is put to."""

    victim: Victim
    opened: Opened
    space: Space
    row: Row
    label: int
    goal: Goal
    seed: int = 0
    """Of what the gauge draws."""


class Gauge(Protocol):
    """What a white-box search wants to know of a model's inside; a frozen dataclass."""

    def measure(self, looks: Sequence[Look]) -> list[Floats]:
        """Return (positions, choices) of each text: the higher, the more a choice there would help.

        -inf where there is no such choice; 0 everywhere if nothing can be said of a text. All are
        of one victim; one that cannot be looked into raises `InputError`.
        """


class Search(Protocol):
    """How the texts of a space are gone through; a frozen dataclass of its settings."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Search for a text that reaches the goal; `rng` belongs to this example alone."""


class Transformation(Protocol):
    """Which words may stand for a word."""

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""


class WordConstraint(Protocol):
    """Which substitutes are kept, from the original text alone; asked once for each text."""

    def keep(self, text: Words, substitutes: Substitutes) -> Substitutes:
        """Return the substitutes that are left, for each word of the text."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Texts that a constraint is to judge, and the text they are compared with."""

    space: Space
    rows: Rows
    reference: Row


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a constraint says of the texts of a `Comparison`."""

    allowed: NDArray[np.bool_]
    similarity: Floats | None = None
    """A score, the higher the better; none: the constraint gives none."""


class TextConstraint(Protocol):
    """Which whole texts are allowed; judged before the victim is asked."""

    @property
    def against_original(self) -> bool:
        """Whether texts are compared with the original, not with the text they were made from."""

    def judge(self, comparisons: Sequence[Comparison]) -> Sequence[Verdict]:
        """Judge the texts of several examples at once, so that a model behind it is kept busy."""


@dataclass(frozen=True)
class Attack:
    """A search over substitutes under constraints, with a name."""

    name: str
    search: Search
    transformation: Transformation
    word_constraints: tuple[WordConstraint, ...] = ()
    text_constraints: tuple[TextConstraint, ...] = ()
    goal: Goal = Untargeted()
    moving: tuple[int, ...] = (-1,)
    """Which texts of an example may change; -1 is a single text, or the second of a pair."""
    placeholder: str | None = None
    """What hides a word when its worth is asked for; none: the victim's own unknown word."""
    max_queries: int | None = None
    """Give an example up rather than ask for more texts than this; none: no limit."""

    def __post_init__(self) -> None:
        if not self.moving:
            raise InputError("No text of an example may change; let `moving` name one.")
        if self.max_queries is not None and self.max_queries < 1:
            raise InputError(
                f"At most {self.max_queries} queries were allowed; expected 1 or more."
            )


def describe(component: Any) -> Any:
    """Return an attack, or a part of one, as JSON; of what it read from a file, the checksum."""
    return _without_content(encode(component))


def _without_content(value: Any) -> Any:
    if isinstance(value, Mapping):
        content = "sha256" in value
        return {
            key: _without_content(item)
            for key, item in value.items()
            # the words of a lexicon, and where on this machine it lies, are no part of the attack
            if not (content and (isinstance(item, Mapping) or key == "source"))
        }
    if isinstance(value, list):
        return [_without_content(item) for item in value]
    return value if isinstance(value, str | int | float | None) else repr(value)
