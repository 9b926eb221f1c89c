"""RIFT's Table 3: information conditional on the class, I(S;T|Y), against I(S;T).

RIFT as in Tables 1 and 2, and the same with one pair of heads that tells apart all texts of a
batch, not those of one class. Everything else is equal. The given model fills the rows of its
family.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import UNREPORTED, Place

DATA = {"IMDB": rift.IMDB, "SNLI": rift.SNLI}
ROWS = {"I(S;T|Y)": "RIFT", "I(S;T)": "RIFT unconditional"}
"""What is maximised to the name of the model, which is Tables 1 and 2's where they are the same."""


def _data(setting: Setting) -> dict[str, rift.DataSet]:
    """Return what is run: without a folder the demo's sentences stand for IMDB alone."""
    names = setting.tasks(tuple(DATA), ("IMDB",))
    return {name: DATA[name] for name in names}


def cells(setting: Setting) -> list[Cell]:
    """Return both, on both data sets."""
    return [
        cell
        for name, of in _data(setting).items()
        for cell in rift.cells_of(
            setting,
            of,
            {
                "RIFT": rift.rift(setting, of),
                "RIFT unconditional": rift.rift(setting, of, conditional=False),
            },
            tuple(f"{name} {attack}" for attack in rift.ATTACKS),
        )
    ]


def places(setting: Setting) -> list[Place]:
    """Return both attacks on both data sets."""
    family = "RoBERTa" if setting.shape.roberta else "BERT"
    found = []
    for maximised, model in ROWS.items():
        row = f"{family} {maximised}"
        for name, of in DATA.items():
            for attack in rift.ATTACKS:
                found.append(Place(row, f"{name} {attack}", (rift.robust(model, of, attack),)))
            unreported = Place(row, f"{name} clean", (rift.clean(model, of),), table=UNREPORTED)
            found.append(unreported)
    return found


REPRODUCTION = Reproduction(
    name="rift-table3",
    protocol=__doc__,
    choices=(
        *rift.CHOICES,
        Choice(
            "How batches are drawn without the condition on the class.",
            "At random, not in equal parts of each class.",
        ),
    ),
    cells=cells,
    places=places,
)
