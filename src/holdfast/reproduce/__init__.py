"""Every table and figure of the two papers as a recipe that runs on one's own model.

`composition`, `strongest`, `further`, `neighbours` and `misspellers` are ours: what neither paper
has.
"""

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.errors import InputError
from holdfast.reproduce import (
    composition,
    further,
    imbert_propositions,
    imbert_table1,
    imbert_table2,
    imbert_table3,
    imbert_table4,
    imbert_table5,
    imbert_table6,
    misspellers,
    neighbours,
    rift_figure2,
    rift_figure3,
    rift_figure4,
    rift_table1,
    rift_table2,
    rift_table3,
    rift_table4,
    strongest,
)
from holdfast.reproduce.again import Again, run_again
from holdfast.reproduce.budget import BUDGETS, Budget, find_budget
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.markdown import markdown
from holdfast.reproduce.published import Number, PublishedTable, published
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.reproduce import reproduce
from holdfast.reproduce.resources import Wanted, find_setting
from holdfast.reproduce.result import Result, result_of
from holdfast.reproduce.setting import Setting, Shape
from holdfast.reproduce.shard import Shard

_MODULES = (
    *(imbert_table1, imbert_table2, imbert_table3, imbert_table4, imbert_table5, imbert_table6),
    *(imbert_propositions, rift_table1, rift_table2, rift_table3, rift_table4),
    *(rift_figure2, rift_figure3, rift_figure4),
    *(composition, strongest, further, neighbours, misspellers),
)

REPRODUCTIONS: Mapping[str, Reproduction] = MappingProxyType(
    {module.REPRODUCTION.name: module.REPRODUCTION for module in _MODULES}
)
"""Every reproduction by its name."""

__all__ = [
    "BUDGETS",
    "REPRODUCTIONS",
    "Again",
    "Budget",
    "Cell",
    "Choice",
    "Measure",
    "Number",
    "PublishedTable",
    "Reproduction",
    "Result",
    "Setting",
    "Shape",
    "Shard",
    "Wanted",
    "find_budget",
    "find_reproduction",
    "find_setting",
    "markdown",
    "published",
    "reproduce",
    "result_of",
    "run_again",
]


def find_reproduction(name: str) -> Reproduction:
    """Return the reproduction of that name."""
    if name not in REPRODUCTIONS:
        raise InputError(
            f"There is no reproduction {name!r}; choose one of {', '.join(REPRODUCTIONS)}."
        )
    return REPRODUCTIONS[name]
