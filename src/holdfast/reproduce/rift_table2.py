"""RIFT's Table 2: SNLI under the genetic attack and PWWS, five ways of fine-tuning.

As Table 1, on pairs of sentences of which only the hypothesis is attacked, in training as in the
evaluation. alpha is 0.7 and beta 5. The paper runs BERT and RoBERTa-base: the given model fills the
columns of its family.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

ROWS = ("Standard", "Adv-Base", "Adv-PTWD", "Adv-Mixout", "RIFT")
SHORT = ("Standard", "Adv-Base", "RIFT")


def cells(setting: Setting) -> list[Cell]:
    """Return the methods on SNLI."""
    methods = rift.methods(setting, rift.SNLI)
    return rift.cells_of(
        setting, rift.SNLI, {row: methods[row] for row in setting.rows(ROWS, SHORT)}
    )


def places(setting: Setting) -> list[Place]:
    """Return both attacks, and the clean accuracy beside them."""
    return list(rift.method_places(setting, rift.SNLI, ROWS))


REPRODUCTION = Reproduction(
    name="rift-table2",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice("How many runs stand behind the plus-minus sign.", "Three seeds of training."),
        Choice("Codes of the labels in the released code (e, c, n).", "The Hub's (e, n, c)."),
    ),
    cells=cells,
    places=places,
    pairs=True,
)
