"""RIFT's Table 4: the weight alpha of the information term, on IMDB and SNLI.

alpha = 0 is Adv-Base. "Vanilla" is the accuracy on the texts as they are; the paper's is far below
what BERT usually reaches, because the released code gives every word one token.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

ALPHAS = {"IMDB": (0, 0.05, 0.1, 0.3), "SNLI": (0, 0.5, 0.7, 1)}
SHORT = {"IMDB": (0, 0.1)}
DATA = {"IMDB": rift.IMDB, "SNLI": rift.SNLI}


def _model(name: str, alpha: float) -> str:
    """Return the model's name: those of Tables 1 and 2 are used again."""
    if alpha == 0:
        return "Adv-Base"
    return "RIFT" if alpha == DATA[name].alpha else f"RIFT alpha {alpha:g}"


def cells(setting: Setting) -> list[Cell]:
    """Return RIFT for every alpha."""
    found = []
    for name, alphas in (ALPHAS if setting.budget.whole else SHORT).items():
        of = DATA[name]
        rows = {
            _model(name, alpha): rift.rift(setting, of, alpha=alpha)
            if alpha
            else rift.adversarial(setting, of)
            for alpha in alphas
        }
        found += rift.cells_of(setting, of, rows, ("Vanilla", *rift.ATTACKS))
    return found


def places(setting: Setting) -> list[Place]:
    """Return clean accuracy and both attacks for every alpha."""
    found = []
    for name, alphas in ALPHAS.items():
        for alpha in alphas:
            row, model, of = f"{name} alpha={alpha:g}", _model(name, alpha), DATA[name]
            found.append(Place(row, "Vanilla", (rift.clean(model, of),)))
            found += [Place(row, c, (rift.robust(model, of, c),)) for c in rift.ATTACKS]
    return found


REPRODUCTION = Reproduction(
    name="rift-table4",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice(
            "Whether Vanilla is on all test examples or on the attacked ones.",
            "On the attacked ones, so that it can be compared with the accuracy under attack.",
        ),
    ),
    cells=cells,
    places=places,
)
