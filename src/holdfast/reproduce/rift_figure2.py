"""RIFT's Figure 2: how far the weights move from the pre-trained ones, on IMDB.

(a) The relative L2 distance over the epochs, for standard, adversarial and RIFT's fine-tuning, all
with a learning rate of 2e-5. (b) The distance at the last epoch of adversarial fine-tuning over
beta, the weight of robustness. The curves stand in the training's own log; nothing is attacked.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source

BETAS = (1, 5, 10, 20)
SHORT_BETAS = (1, 10)
METHODS = ("Standard", "Adv-Base", "RIFT")
PARTS = {"quarter": 0.25, "half": 0.5, "three quarters": 0.75, "end": 1.0}
OVER_TRAINING = "(a) Distance over the training"
OVER_BETA = "(b) Distance at the last epoch, over beta"


def adv_base(beta: float) -> str:
    """Return the name of Adv-Base with this beta; the paper's own is Table 1's."""
    return "Adv-Base" if beta == rift.IMDB.beta else f"Adv-Base beta {beta:g}"


def _betas(setting: Setting) -> tuple[float, ...]:
    return BETAS if setting.budget.whole else SHORT_BETAS


def cells(setting: Setting) -> list[Cell]:
    """Return the methods, and Adv-Base for every beta."""
    methods = rift.methods(setting, rift.IMDB)
    rows = {row: methods[row] for row in METHODS}
    rows |= {adv_base(b): rift.adversarial(setting, rift.IMDB, b) for b in _betas(setting)}
    return [
        Cell(row, ("distance",), rift.train(setting, method, rift.IMDB, seed), _nothing(), seed)
        for row, method in rows.items()
        for seed in setting.seeds_or(3)
    ]


def _nothing() -> Measure:
    return Measure("imdb", evaluated=False)


def _distance(row: str, along: float) -> Source:
    return Source(row, "imdb", "distance", along=along)


def places(setting: Setting) -> list[Place]:
    """Return the distance along the training, and at its end over beta."""
    over_training = [
        Place(row, part, (_distance(row, along),), unit="", table=OVER_TRAINING)
        for row in METHODS
        for part, along in PARTS.items()
    ]
    over_beta = [
        Place(f"beta={b:g}", "distance", (_distance(adv_base(b), 1.0),), unit="", table=OVER_BETA)
        for b in _betas(setting)
    ]
    return over_training + over_beta


REPRODUCTION = Reproduction(
    name="rift-figure2",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice("The betas of (b), which stand in the picture alone.", "1, 5, 10 and 20."),
        Choice(
            "Which weights the distance is over.",
            "Those of the pre-trained encoder; a new head has nothing to be far from.",
        ),
    ),
    cells=cells,
    places=places,
)
