"""IM-BERT's Table 4: adversarial training against the connection, by level of the attack.

Accuracies on AdvGLUE by level, averaged over the tasks, for SMART, FreeLB and InfoBERT (copied from
the benchmark's pages) and for IM-RoBERTa. The paper is on RoBERTa-large and the test sets; here the
given model is trained by all four methods and put to the development sets. How the paper averages
is not said and cannot be recovered, so both ways are given: the plain mean over the tasks that have
rows of a level, and the mean weighted by the number of rows.
"""

from holdfast.reproduce.cell import Cell
from holdfast.reproduce.imbert import CHOICES, COLUMNS, METHODS, TASKS, advglue, beside, cells_of
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source

METHODS_OF_COLUMNS = {
    "SMART": "SMART",
    "FreeLB": "FreeLB",
    "InfoBERT": "InfoBERT",
    "IM-RoBERTa": "IM-BERT",
    "without": "BERT",
}
"""Column of the paper to the method; the last one, plain fine-tuning, the paper does not have."""
SHORT = ("FreeLB", "IM-RoBERTa", "without")
LEVELS = {"Word-Level": "word", "Sentence-Level": "sentence", "Human Crafted": "human"}
BY_ROWS = "The same, weighted by the number of rows of each task"
WITHOUT_HUMAN = ("mnli", "rte")
"""Parts of AdvGLUE that have no row of the level human."""


def cells(setting: Setting) -> list[Cell]:
    """Return every method on every task; a method fills a column."""
    tasks = setting.tasks(TASKS, ("sst2",))
    shown = setting.rows(tuple(METHODS_OF_COLUMNS), SHORT)
    return [
        cell
        for column in shown
        for method in [METHODS_OF_COLUMNS[column]]
        for cell in cells_of(
            setting, [(method, METHODS[method])], tasks, seeds=3, columns=(column,)
        )
    ]


def places(setting: Setting) -> list[Place]:
    """Return each level as a plain mean over tasks, and weighted by rows in a table of its own."""
    found = []
    for column, method in METHODS_OF_COLUMNS.items():
        sources = {row: _sources(setting, method, level) for row, level in LEVELS.items()}
        levels = [Place(row, column, found_in) for row, found_in in sources.items()]
        found += [*levels, Place("Avg.", column, of=tuple(levels))]
        found += [
            Place(row, column, found_in, weighted=True, table=BY_ROWS)
            for row, found_in in sources.items()
        ]
    tasks = setting.tasks(TASKS, ("sst2",))
    return found + [p for method in METHODS_OF_COLUMNS.values() for p in beside(method, tasks)]


def _sources(setting: Setting, method: str, level: str) -> tuple[Source, ...]:
    run = setting.tasks(tuple(COLUMNS.values()), ("sst2",))
    kept = [part for part in run if level != "human" or part not in WITHOUT_HUMAN]
    return tuple(advglue(method, part, level) for part in kept)


REPRODUCTION = Reproduction(
    name="imbert-table4",
    protocol=__doc__,
    choices=(
        *CHOICES,
        Choice(
            "How levels are averaged over tasks.",
            "Plainly over the tasks that have such rows (MNLI-m and RTE have none of the level "
            "human); weighted by the rows in the second table.",
        ),
    ),
    cells=cells,
    places=places,
    differs=(
        "The paper's table is on AdvGLUE's test sets and RoBERTa-large; here it is on the "
        "development sets. Its adversarial columns are copied from the benchmark's pages.",
    ),
)
