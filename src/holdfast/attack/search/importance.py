"""What each word of a text is worth to the victim: four ways to find out, asked before a search."""

from collections.abc import Callable, Generator
from typing import Literal

import numpy as np

from holdfast.attack.core import Answer, Ask, Problem
from holdfast.attack.goal import Floats
from holdfast.victim import DELETED, UNKNOWN, Rows

Importance = Literal["hidden", "hidden_or_flipped", "deleted", "combined"]
Worth = Generator[Ask, Answer, Floats]
"""Ends with (positions,): the higher, the more important."""


def hidden(problem: Problem) -> Worth:
    """How much nearer the goal is when a word is hidden."""
    return (yield from _without(problem, UNKNOWN))


def deleted(problem: Problem) -> Worth:
    """How much nearer the goal is when a word is left out."""
    return (yield from _without(problem, DELETED))


def hidden_or_flipped(problem: Problem) -> Worth:
    """TextFooler's: where hiding a word changes the class, what the new class gains counts too."""
    space = problem.space
    answer = yield Ask(_each(problem, UNKNOWN), probe=True)
    worth = problem.closeness(answer) - problem.closeness(problem.original)
    predicted = answer.log_probabilities.argmax(axis=1)
    at = np.arange(len(space))
    now = np.exp(answer.log_probabilities[at, predicted])
    before = np.exp(problem.original.log_probabilities[0, predicted])
    total: Floats = worth + np.where(predicted != problem.label, now - before, 0.0)
    return total


def combined(problem: Problem) -> Worth:
    """DeepWordBug's: what a word adds to those before it, and to those after it."""
    count = len(problem.space)
    position = np.arange(count)
    heads = np.where(position[None] <= position[:, None], 0, DELETED).astype(np.int16)
    tails = np.where(position[None] >= position[:, None], 0, DELETED).astype(np.int16)
    answer = yield Ask(np.concatenate([heads, tails]), probe=True)
    right = 1 - problem.closeness(answer)
    # a text of no word is not asked: all classes are taken to be equally likely there
    nothing = 1 / answer.log_probabilities.shape[1]
    head, tail = right[:count], right[count:]
    gained: Floats = np.diff(head, prepend=nothing) - np.diff(tail, append=nothing)
    return gained / 2


def _without(problem: Problem, choice: int) -> Worth:
    answer = yield Ask(_each(problem, choice), probe=True)
    worth: Floats = problem.closeness(answer) - problem.closeness(problem.original)
    return worth


def _each(problem: Problem, choice: int) -> Rows:
    space = problem.space
    everywhere = np.arange(len(space))
    return space.edits(space.original(), everywhere, np.full(len(space), choice))


WAYS: dict[Importance, Callable[[Problem], Worth]] = {
    "hidden": hidden,
    "hidden_or_flipped": hidden_or_flipped,
    "deleted": deleted,
    "combined": combined,
}
