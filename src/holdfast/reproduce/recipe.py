"""Reproduction: one table or figure of a paper, as a recipe file describes it."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.reproduce.cell import Cell
from holdfast.reproduce.published import PublishedTable, published
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place


@dataclass(frozen=True)
class Choice:
    """Something a paper leaves open, and what was taken."""

    open: str
    taken: str


@dataclass(frozen=True)
class Reproduction:
    """What to train, what to measure, and where the numbers go."""

    name: str
    protocol: str
    """What is done and why: the text at the top of the recipe's file."""
    choices: tuple[Choice, ...]
    cells: Callable[[Setting], list[Cell]]
    places: Callable[[Setting], list[Place]]
    differs: tuple[str, ...] = ()
    """Where it is never the paper's experiment, in sentences."""
    pairs: bool = False
    """Whether a task of sentence pairs is needed, which the demo's sentences cannot stand for."""
    needs_vectors: bool = False
    """Whether it means nothing without word vectors."""

    @property
    def published(self) -> PublishedTable:
        """What the paper prints."""
        return published()[self.name]

    @property
    def about(self) -> str:
        """One line for a list."""
        return f"{self.published.paper}: {self.published.title}"
