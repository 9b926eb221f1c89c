"""What neither paper has: an attacker with a thesaurus of their own, on SST-2.

The models of `composition`, and TextFooler with the 50 nearest words of a file of vectors. RIFT and
canonical text know the lexicon and not these vectors. What a defence makes of words it
knows is in the tables of `composition`; this is about the others.
"""

from holdfast.reproduce import composition
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

ATTACKS = {"TextFooler": "textfooler"}
SHORT = ("Standard", "Standard canonical")


def cells(setting: Setting) -> list[Cell]:
    """Return the trainings of the composition."""
    rows = setting.rows(composition.ROWS, SHORT)
    return composition.cells_of(setting, rows, tuple(ATTACKS), tuple(ATTACKS.values()))


def places(setting: Setting) -> list[Place]:
    """Return clean accuracy and the attack, of every row."""
    task = composition.TASK
    return [
        place
        for row in composition.ROWS
        for place in composition.row_places(row, task, attacks=ATTACKS)
    ]


REPRODUCTION = Reproduction(
    name="neighbours",
    protocol=__doc__,
    choices=(
        Choice(
            "Which vectors.",
            "Those that are given. TextFooler's are Paragram's, counter-fitted with PPDB and "
            "WordNet; scripts/counter_fit.py makes such of GloVe's with WordNet alone.",
        ),
        Choice("Trainings.", "Those of the composition, so both tables can stand side by side."),
    ),
    cells=cells,
    places=places,
    needs_vectors=True,
)
