"""RIFT's Figure 4: robust against clean accuracy on IMDB, as beta trades one for the other.

Each method is trained with several betas; each training is a point: accuracy on the texts as they
are, accuracy under attack. A method is better where its curve lies above and to the right.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.rift_figure2 import BETAS, SHORT_BETAS
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

METHODS = ("Adv-Base", "Adv-PTWD", "Adv-Mixout", "RIFT")
SHORT = ("Adv-Base", "RIFT")
ATTACK = "PWWS"


def _model(method: str, beta: float) -> str:
    return method if beta == rift.IMDB.beta else f"{method} beta {beta:g}"


def _points(setting: Setting) -> list[tuple[str, float]]:
    betas = BETAS if setting.budget.whole else SHORT_BETAS
    return [(method, beta) for method in setting.rows(METHODS, SHORT) for beta in betas]


def cells(setting: Setting) -> list[Cell]:
    """Return every method with every beta."""
    rows = {
        _model(method, beta): rift.methods(setting, rift.IMDB, beta)[method]
        for method, beta in _points(setting)
    }
    return rift.cells_of(setting, rift.IMDB, rows, ("clean", "robust"), ATTACK)


def places(setting: Setting) -> list[Place]:
    """Return the points of the curves."""
    found = []
    for method, beta in _points(setting):
        row, model = f"{method} beta={beta:g}", _model(method, beta)
        found.append(Place(row, "clean", (rift.clean(model, rift.IMDB),)))
        found.append(Place(row, "robust", (rift.robust(model, rift.IMDB, ATTACK),)))
    return found


REPRODUCTION = Reproduction(
    name="rift-figure4",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice("The betas along the curves, and the attack.", "1, 5, 10 and 20; PWWS."),
    ),
    cells=cells,
    places=places,
)
