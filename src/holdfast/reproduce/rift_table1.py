"""RIFT's Table 1: IMDB under the genetic attack and PWWS, five ways of fine-tuning.

Standard fine-tuning; adversarial fine-tuning in the convex hull of substitutes (Adv-Base, which is
ASCC); the same with decay towards the pre-trained weights (Adv-PTWD) or with Mixout; and RIFT,
which adds the information kept from the pre-trained model. All use the same beta. The paper runs
BERT and RoBERTa-base: the given model fills the columns of its family.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

ROWS = ("Standard", "Adv-Base", "Adv-PTWD", "Adv-Mixout", "RIFT")
SHORT = ("Standard", "Adv-Base", "RIFT")


def cells(setting: Setting) -> list[Cell]:
    """Return the methods on IMDB."""
    methods = rift.methods(setting, rift.IMDB)
    return rift.cells_of(
        setting, rift.IMDB, {row: methods[row] for row in setting.rows(ROWS, SHORT)}
    )


def places(setting: Setting) -> list[Place]:
    """Return both attacks, and the clean accuracy beside them."""
    return list(rift.method_places(setting, rift.IMDB, ROWS))


REPRODUCTION = Reproduction(
    name="rift-table1",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice("How many runs stand behind the plus-minus sign.", "Three seeds of training."),
    ),
    cells=cells,
    places=places,
)
