"""What neither paper has: the recipes that hold best, against words two steps away.

The recipes that `strongest` chose, and plain fine-tuning, against an attacker who has the words of
the counter-fitted lexicon and those words' own: some fourteen for a word of a text, where the
lexicon has five. Canonical text of two rounds has made some of them one word, not all. And one
recipe that was made for him: canonical text over the lexicon that he takes his words from. Which
recipes they are was settled before: nothing is chosen here.
"""

from collections.abc import Mapping, Sequence

from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.composition import row_places
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.strongest import CANDIDATES, TASKS, Candidate, has_lexicon, train
from holdfast.reproduce.table import Place

ATTACKS = {"PWWS": "pwws_rift", "PWWS, further": "pwws_further"}
"""Column to the attack: the words the defences know, and further ones."""
MADE_FOR_HIM = "Plain canonical further"
RECIPES = {**CANDIDATES, MADE_FOR_HIM: Candidate(canonical=2, lexicon="further")}
CHOSEN = {
    "sst2": ("Plain", "FreeLB 2 spelt", MADE_FOR_HIM),
    "imdb": ("Plain", "FreeLB 2 spelt wide canonical apart 1", MADE_FOR_HIM),
    "snli": ("Plain", "Plain canonical apart 1.5", MADE_FOR_HIM),
}
"""Task to its rows."""


def cells(setting: Setting) -> list[Cell]:
    """Return what was chosen on every task."""
    tasks = setting.tasks(tuple(TASKS), ("sst2",))
    return cells_of(setting, {task: _rows(setting, task) for task in tasks}, RECIPES, ATTACKS)


def cells_of(
    setting: Setting,
    rows: Mapping[str, Sequence[str]],
    recipes: Mapping[str, Candidate],
    attacks: Mapping[str, str],
) -> list[Cell]:
    """Return the recipes that are rows of a task, on test, under the attacks of the columns."""
    examples = at_most(1000, setting.budget.attacked)
    return [
        Cell(
            name_of(row),
            tuple(attacks),
            train(setting, recipes[row], task, seed),
            Measure(task, tuple(attacks.values()), examples, sample="test"),
            seed,
        )
        for task, own in rows.items()
        for row in own
        for seed in setting.seeds_or(3)
    ]


def _rows(setting: Setting, task: str) -> list[str]:
    """Return what was chosen on a task, as far as there are files for it."""
    return [row for row in CHOSEN[task] if has_lexicon(setting, RECIPES[row])]


def places(setting: Setting) -> list[Place]:
    """Return for every task clean accuracy and both attacks."""
    found: list[Place] = []
    for task, title in TASKS.items():
        for row in _rows(setting, task):
            found += row_places(row, task, table=title, attacks=ATTACKS)
    return found


REPRODUCTION = Reproduction(
    name="further",
    protocol=__doc__,
    choices=(
        Choice(
            "More neighbours without vectors.",
            "A word's substitutes in the lexicon, then theirs; 50 at most, which none has.",
        ),
    ),
    cells=cells,
    places=places,
)
