"""Answers that no text of an attack can change: proved, by reading all there are to read.

An attack may write any substitute in any place, which makes far too many texts to try. A model that
reads canonical text sees few of them: substitutes that it is given as the same tokens are one to
it. What is left, the forms of a text, is counted, and where the forms are few, all are read.
Constraints on whole texts are not looked at: they leave an attack fewer texts, never more.

A model that reads texts twice answers trust p(. | form) + (1 - trust) p(. | own words). Of the own
words there are too many, and they weigh 1 - trust at most. So the answer y stands where

    p(y | form) - p(z | form) > (1 - trust) / trust    for every form and every other class z,

and is surely lost where some form has it the other way round. The bound is 0 with a trust of 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Attack
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.text import Words
from holdfast.victim import LogProbabilities, Opened, Query, Rows, Space

if TYPE_CHECKING:
    from holdfast.victim import ModelVictim

Verdict = Literal["certain", "broken", "open"]
"""No text changes the answer; one does; or it is not known."""
MOST = 4096
"""Forms of a text that are read; of one that has more it is not known."""
_TOGETHER = 32


def certify(
    attack: Attack, victim: "ModelVictim", examples: Sequence[Example], *, most: int = MOST
) -> list[Verdict]:
    """Return for each example that the victim gets right whether a text of the attack breaks it.

    What is certain is so for any search with the words and the places of `attack`.
    """
    blocks = (examples[at : at + _TOGETHER] for at in range(0, len(examples), _TOGETHER))
    return [found for block in blocks for found in _certify_block(attack, victim, block, most)]


@dataclass(frozen=True, eq=False)
class Forms:
    """The texts of a space that a model tells apart."""

    opened: Opened
    choices: tuple[NDArray[np.intp], ...]
    """For each position one choice of all that are the same to the model; the word itself first."""

    @classmethod
    def of(cls, space: Space, opened: Opened) -> "Forms":
        """Return the forms of a space that is ready for queries."""
        of_place = zip(opened.keys, space.sizes, strict=True)
        first = (np.unique(keys[:size], return_index=True)[1] for keys, size in of_place)
        return cls(opened, tuple(map(np.sort, first)))

    def __len__(self) -> int:
        return prod(map(len, self.choices))

    def near(self) -> Rows:
        """Return the original and those that differ from it in one place."""
        others = [(at, choice) for at, own in enumerate(self.choices) for choice in own[1:]]
        rows = np.zeros((1 + len(others), len(self.choices)), dtype=np.int16)
        for row, (at, choice) in enumerate(others, start=1):
            rows[row, at] = choice
        return rows

    def all(self) -> Rows:
        """Return all of them."""
        rows = np.zeros((len(self), len(self.choices)), dtype=np.int16)
        repeat = len(self)
        for at, choices in enumerate(self.choices):
            repeat //= len(choices)
            rows[:, at] = np.resize(np.repeat(choices, repeat), len(self))
        return rows


def _certify_block(
    attack: Attack, victim: "ModelVictim", examples: Sequence[Example], most: int
) -> Iterator[Verdict]:
    labels = [example.label for example in examples]
    texts = [tuple(map(Words.of, example.texts)) for example in examples]
    seen = [reading.visible for reading in victim.read(texts)]  # in either reading, of two
    spaces = [build_space(attack, *of) for of in zip(texts, seen, strict=True)]
    opened = victim.reader.open(victim.reader.read(texts), spaces)
    forms = [Forms.of(*of) for of in zip(spaces, opened, strict=True)]
    # most of what is not certain is seen not to be from one word, before many texts are read
    near = _verdicts(victim, [(of.opened, of.near()) for of in forms], labels)
    left = [at for at, of in enumerate(forms) if near[at] == "certain" and len(of) <= most]
    read = [(forms[at].opened, forms[at].all()) for at in left]
    whole = dict(zip(left, _verdicts(victim, read, [labels[at] for at in left]), strict=True))
    for at, found in enumerate(near):
        yield whole.get(at, "open" if found == "certain" else found)


def _verdicts(
    victim: "ModelVictim", asked: Sequence[tuple[Opened, Rows]], labels: Sequence[int]
) -> list[Verdict]:
    """Return what the canonical reading of some texts says of each example."""
    ends = np.cumsum([0, *(len(rows) for _, rows in asked)])
    tickets = [np.arange(*of) for of in pairwise(ends.tolist())]
    session, owed = victim.queue(), int(ends[-1])
    answers = np.empty((owed, victim.classes))
    session.put([Query(*of, own) for of, own in zip(asked, tickets, strict=True)])
    while owed:
        done, found = session.take()
        answers[done] = found
        owed -= len(done)
    of_example = zip(tickets, labels, strict=True)
    return [verdict(answers[own], label, victim.trust) for own, label in of_example]


def verdict(answers: LogProbabilities, label: int, trust: float) -> Verdict:
    """Return what the answers on the forms of a text say of all texts that have one of them."""
    others = np.exp(np.delete(answers, label, axis=1)).max(axis=1)
    ahead = np.exp(answers[:, label]) - others
    bound = (1 - trust) / trust
    if (ahead > bound).all():
        return "certain"
    return "broken" if (ahead < -bound).any() else "open"
