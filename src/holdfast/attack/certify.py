"""Answers that no text of an attack can change: proved, by reading all there are to read.

An attack may write any substitute in any place, which makes far too many texts to try. A model that
reads canonical text sees few of them: substitutes that it is given as the same word are one to it.
What is left, the forms of a text, is counted, and where the forms are few, all are read, each
tokenised as a whole. Constraints on whole texts are not looked at: they leave an attack fewer
texts, never more.

A model that reads texts twice answers trust p(. | form) + (1 - trust) p(. | own words). Of the own
words there are too many, and they weigh 1 - trust at most. So the answer y stands where

    p(y | form) - p(z | form) > (1 - trust) / trust    for every form and every other class z,

and is surely lost where some form has it the other way round. The bound is 0 with a trust of 1.
Where the canonical form gives way, it must be sure of y as well, p(y | form) > 1 / (2 trust), from
which the bound follows. What is proved is proved of the model as it runs here: in another precision
or on another device the last digits of its answers are others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Attack
from holdfast.attack.flight import rounded
from holdfast.attack.goal import Untargeted
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.record import Outcome
from holdfast.text import Words
from holdfast.text.two_readings import Blend
from holdfast.victim import LogProbabilities, Opened, Query, Rows, Space, Victim

if TYPE_CHECKING:
    from holdfast.victim import ModelVictim

Certainty = Literal["certain", "broken", "open"]
"""No text changes the answer; one does; or it is not known."""
MOST = 1024
"""Forms of a text that are read; of one that has more it is not known."""
_TOGETHER = 32


@dataclass(frozen=True)
class Proof:
    """What is known of all texts that an attack can make of an example."""

    verdict: Certainty
    texts: int
    """That were read."""
    words: int
    """That the attack can look at."""
    changeable: int
    """Of which it may change."""


def certify(
    attack: Attack, victim: "ModelVictim", examples: Sequence[Example], *, most: int = MOST
) -> Iterator[Proof]:
    """Yield of each example whether a text of the attack changes its right answer.

    What is certain is so for any search with the words and the places of `attack`. Of an example
    that the victim gets wrong nothing is certain.
    """
    for at in range(0, len(examples), _TOGETHER):
        yield from _certify_block(attack, victim, examples[at : at + _TOGETHER], most)


def provable(attack: Attack, victim: Victim) -> "ModelVictim | None":
    """Return the victim if something can be proved of it: it must be given words as other words.

    Of an attack that is after a class or a lower probability nothing is: what is proved is that
    the answer stays.
    """
    from holdfast.victim import ModelVictim

    if not isinstance(attack.goal, Untargeted) or not isinstance(victim, ModelVictim):
        return None
    return victim if victim.canonical is not None else None


def certain_first(
    attack: Attack,
    victim: "ModelVictim",
    examples: Sequence[Example],
    search: Callable[[Iterator[Example]], Iterator[Outcome]],
) -> Iterator[Outcome]:
    """Yield the outcomes of what is certain as it is found, then those of a search of the rest."""
    left: list[Example] = []
    for at in range(0, len(examples), _TOGETHER):
        block = examples[at : at + _TOGETHER]
        answers = victim.score([example.texts for example in block])
        proofs = certify(attack, victim, block)
        for example, proof, answer in zip(block, proofs, answers, strict=True):
            proved = proof.verdict == "certain" and proof.changeable
            if proved and np.isfinite(answer).all() and answer.argmax() == example.label:
                yield _outcome(example, proof, answer)
            else:
                left.append(example)
    yield from search(iter(left))


def _outcome(example: Example, proof: Proof, answer: NDArray[np.float64]) -> Outcome:
    return Outcome(
        *(example.id, example.texts, example.label, "certain", example.label),
        probabilities=rounded(answer.tolist()),
        words=proof.words,
        queries=proof.texts,
        forwards=proof.texts,
    )


@dataclass(frozen=True, eq=False)
class Forms:
    """The texts of a space that a model tells apart."""

    space: Space
    opened: Opened
    choices: tuple[NDArray[np.intp], ...]
    """For each position one choice of all that are the same to the model; the word itself first."""

    @classmethod
    def of(cls, space: Space, opened: Opened) -> "Forms":
        """Return the forms of a space that is ready for queries."""
        of_place = zip(opened.keys, space.sizes, strict=True)
        first = (np.unique(keys[:size], return_index=True)[1] for keys, size in of_place)
        return cls(space, opened, tuple(map(np.sort, first)))

    @property
    def count(self) -> int:
        """How many there are, which may be more than any list could hold."""
        return prod(map(len, self.choices))

    def original(self) -> Rows:
        """Return the text as it is."""
        return self.space.original()[None]

    def near(self) -> Rows:
        """Return the original and those that differ from it in one place."""
        others = [(at, choice) for at, own in enumerate(self.choices) for choice in own[1:]]
        rows = np.zeros((1 + len(others), len(self.choices)), dtype=np.int16)
        for row, (at, choice) in enumerate(others, start=1):
            rows[row, at] = choice
        return rows

    def all(self) -> Rows:
        """Return all of them."""
        count = repeat = self.count
        rows = np.zeros((count, len(self.choices)), dtype=np.int16)
        for at, choices in enumerate(self.choices):
            repeat //= len(choices)
            rows[:, at] = np.resize(np.repeat(choices, repeat), count)
        return rows


def _certify_block(
    attack: Attack, victim: "ModelVictim", examples: Sequence[Example], most: int
) -> Iterator[Proof]:
    forms = _forms(attack, victim, examples)
    found: list[Certainty] = ["open"] * len(forms)
    read, left = [0] * len(forms), [at for at, of in enumerate(forms) if of.count <= most]
    # most of what is not certain is seen not to be from a few texts, before many are read
    for some in (Forms.original, Forms.near, Forms.all):
        rows = [some(forms[at]) for at in left]
        labels = [examples[at].label for at in left]
        verdicts = _verdicts(victim, [forms[at] for at in left], rows, labels)
        for at, asked, verdict in zip(left, rows, verdicts, strict=True):
            found[at], read[at] = verdict, read[at] + len(asked)
        left = [at for at in left if found[at] == "certain"]
    for of, verdict, texts in zip(forms, found, read, strict=True):
        yield Proof(verdict, texts, len(of.space), len(of.space.changeable))


def _forms(attack: Attack, victim: "ModelVictim", examples: Sequence[Example]) -> list[Forms]:
    texts = [tuple(map(Words.of, example.texts)) for example in examples]
    seen = [reading.visible for reading in victim.read(texts)]  # in either reading, of two
    spaces = [build_space(attack, *of) for of in zip(texts, seen, strict=True)]
    return [Forms.of(space, victim.reader.forms(space)) for space in spaces]


def _verdicts(
    victim: "ModelVictim", forms: Sequence[Forms], asked: Sequence[Rows], labels: Sequence[int]
) -> list[Certainty]:
    """Return what the canonical reading of some forms says of each example."""
    ends = np.cumsum([0, *map(len, asked)])
    tickets = [np.arange(*of) for of in pairwise(ends.tolist())]
    session, opened = victim.queue(), [of.opened for of in forms]
    session.put([Query(*of) for of in zip(opened, asked, tickets, strict=True)])
    answers = session.take_all(int(ends[-1]), victim.classes)
    of_example = zip(tickets, labels, strict=True)
    return [certainty(answers[own], label, victim.blend) for own, label in of_example]


def certainty(answers: LogProbabilities, label: int, blend: Blend) -> Certainty:
    """Return what the answers on the forms of a text say of all texts that have one of them."""
    own = np.exp(answers[:, label])
    others = np.exp(np.delete(answers, label, axis=1)).max(axis=1)
    bound = (1 - blend.trust) / blend.trust
    right, wrong = own - others > bound, others - own > bound
    if blend.gives_way:
        right, wrong = own > blend.sure, others > blend.sure
    if right.all():
        return "certain"
    return "broken" if wrong.any() else "open"
