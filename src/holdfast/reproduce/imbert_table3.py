"""IM-BERT's Table 3: which layers get the connection, on SST-2 of AdvGLUE by level of the attack.

BERT, the connection (T = 5) on each quarter of the layers, and on all of them; trained on all of
SST-2, three runs. AdvGLUE has 80 rows of the level word, 51 sentence and 17 human. A model of other
than 12 layers gets the connection on the same quarter of its own layers.
"""

from holdfast.reproduce.cell import Cell
from holdfast.reproduce.imbert import (
    CHOICES,
    METHODS,
    RULE,
    Method,
    advglue,
    beside,
    by_rule,
    cells_of,
    cost_places,
    printed,
    quarters,
    weights,
)
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

QUARTERS = ("Layer (1-3)", "Layer (4-6)", "Layer (7-9)", "Layer (10-12)")
COMPARED = ("R3F", "SMART", "FreeLB")
"""Of Table 1, which has them by task only."""
ROWS = ("BERT", *QUARTERS, "IM-BERT", "EX-BERT", "IM-BERT solved", "Theta", *COMPARED)
SHORT = ("BERT", "Layer (4-6)", "IM-BERT")
LEVELS = {"Word": "word", "Sentence": "sentence", "Human": "human", "All": ""}


def method(row: str, setting: Setting) -> Method:
    """Return what stands behind a row for a model of this depth."""
    if row in QUARTERS:
        return printed(5, quarters(setting.shape)[QUARTERS.index(row)])
    return METHODS[row]


def cells(setting: Setting) -> list[Cell]:
    """Return every row."""
    rows = [(row, method(row, setting)) for row in setting.rows(ROWS, SHORT)]
    columns = (*LEVELS, "FLOPs", "Params")
    return cells_of(setting, rows, ("sst2",), seeds=5, columns=columns, cost=True)


def places(setting: Setting) -> list[Place]:
    """Return the levels, all of them, and what a forward pass costs."""
    found = []
    for row in ROWS:
        found += [Place(row, c, (advglue(row, "sst2", level),)) for c, level in LEVELS.items()]
        model = method(row, setting)
        found.append(by_rule(row, "FLOPs", model, setting.shape))
        found.append(weights(row))
        found += cost_places(row, model, setting.shape, "sst2")
        found += beside(row, ("sst2",))
    return found


REPRODUCTION = Reproduction(
    name="imbert-table3",
    protocol=__doc__,
    choices=(
        *CHOICES,
        Choice(
            "What the layers without the connection do: h = phi(h), or h + phi(h).",
            "They stay as they are in BERT, h = phi(h).",
        ),
        Choice(
            "Columns Sentence and Human look swapped in print.",
            "Levels are told apart by AdvGLUE's own field `data_construction`.",
        ),
    ),
    cells=cells,
    places=places,
    differs=(RULE,),
)
