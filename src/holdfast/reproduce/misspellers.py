"""What neither paper has: undoing misspellings, against one who misspells and one who tries more.

Plain fine-tuning, and the same with misspellings undone: of words that nobody knows, or (0.1, 0.3)
of known words, too, if that share of all words is expected to be slips. DeepWordBug has four slips
for a word; of sixteen, which the other attacker has, one is left more often. No word is
exchanged for another, so that two rows differ in their spelling alone; all but the last, a recipe
of `strongest` that hides slips that are read as other words.
"""

from types import MappingProxyType

from holdfast.reproduce import further
from holdfast.reproduce.cell import Cell
from holdfast.reproduce.composition import row_places
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.strongest import CANDIDATES, TASKS, has_lexicon
from holdfast.reproduce.table import Place

ATTACKS = MappingProxyType(
    {"misspelt": "deepwordbug", "misspelt, further": "deepwordbug_further"},
)
"""Column to the attack: four slips for a word, and sixteen."""
SPELT = ("Plain", "Plain spelt", "Plain spelt 0.1", "Plain spelt 0.3")
"""Rows that differ in their spelling."""
HIDES = "Plain spelt 0.1 wide canonical groups 0.15 slips gives way 0.7"
ROWS = (*SPELT, HIDES)
SHORT = ("Plain", "Plain spelt 0.1")


def cells(setting: Setting) -> list[Cell]:
    """Return every row on every task."""
    rows = setting.rows(_rows(setting), SHORT)
    tasks = setting.tasks(tuple(TASKS), ("sst2",))
    return further.cells_of(setting, dict.fromkeys(tasks, rows), CANDIDATES, ATTACKS)


def _rows(setting: Setting) -> tuple[str, ...]:
    """Return the rows that there are files for."""
    return tuple(row for row in ROWS if has_lexicon(setting, CANDIDATES[row]))


def places(setting: Setting) -> list[Place]:
    """Return for every task clean accuracy and both attacks."""
    return [
        place
        for task, title in TASKS.items()
        for row in _rows(setting)
        for place in row_places(row, task, table=title, attacks=ATTACKS)
    ]


REPRODUCTION = Reproduction(
    name="misspellers",
    protocol=__doc__,
    choices=(
        Choice("Sixteen slips.", "Four of each of DeepWordBug's kinds, drawn from the word."),
        Choice("Known words.", "0.1, 0.3: the share of a text's words that are expected as slips."),
    ),
    cells=cells,
    places=places,
)
