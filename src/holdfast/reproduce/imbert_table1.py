"""IM-BERT's Table 1, upper half: AdvGLUE's development sets after training on all of GLUE.

Every method is fine-tuned on each of five GLUE tasks and put to AdvGLUE's rows of that task (MNLI
has two parts): 148, 78, 148, 121, 162 and 81 of them. The paper copies the four adversarial rows
from the CreAT paper; here they are trained by the same protocol as the others. The lower half of
the table is on the test sets, which were hidden when it was made; it is in published.toml and not
run. Always answering the most frequent class scores 49.25 on average: read the second table, with
clean and paired accuracy, before the first.
"""

from holdfast.reproduce.cell import Cell
from holdfast.reproduce.imbert import CHOICES, METHODS, TASKS, cells_of, task_places
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place

ROWS = ("FreeLB", "CreAT", "R3F", "SMART", "BERT", "EX-BERT", "IM-BERT", "IM-BERT solved", "Theta")
SHORT = ("R3F", "BERT", "EX-BERT", "IM-BERT")


def cells(setting: Setting) -> list[Cell]:
    """Return every method on every task."""
    rows = [(row, METHODS[row]) for row in setting.rows(ROWS, SHORT)]
    return cells_of(setting, rows, setting.tasks(TASKS, ("sst2",)), seeds=3)


def places(setting: Setting) -> list[Place]:
    """Return the six tasks, their mean, and clean, paired and PWWS beside them."""
    tasks = setting.tasks(TASKS, ("sst2",))
    return [place for row in ROWS for place in task_places(row, tasks)]


REPRODUCTION = Reproduction(
    name="imbert-table1",
    protocol=__doc__,
    choices=(
        *CHOICES,
        Choice("Seeds: the table gives one number a cell.", "Three; the interval covers them."),
        Choice(
            "Settings of the copied adversarial rows.",
            "Those of each method's paper; FreeLB's as in CreAT's comparison (two steps).",
        ),
    ),
    cells=cells,
    places=places,
    differs=(
        "The paper's four adversarial rows are copied from the CreAT paper; here they are trained "
        "by the same protocol as the others.",
    ),
)
