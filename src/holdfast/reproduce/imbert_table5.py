"""IM-BERT's Table 5: IMDB under TextFooler for T = 1, 5, 10 and 15 inner iterations.

The connection is on all layers; the accuracy is that under attack. FLOPs are given three times: by
the paper's rule, 22.35 (1 + T) for BERT-base at 128 tokens, which leaves out the backward pass of
each inner step; by the same rule for this model; and as PyTorch counts what really runs, with the
time it takes. Plain BERT, which the paper leaves out, is run beside them.
"""

from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.imbert import CHOICES, METHODS, RULE, by_rule, cost_places, train
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import UNREPORTED, Place, Source

COLUMNS = {f"T={steps}": f"IM-BERT T={steps}" for steps in (1, 5, 10, 15)} | {"BERT": "BERT"}
"""Column of the table to the method."""
SHORT = ("T=1", "T=5", "BERT")


def cells(setting: Setting) -> list[Cell]:
    """Return a model for each T."""
    attacked = at_most(1000, setting.budget.attacked)
    measure = Measure("imdb", ("textfooler",), attacked, sample="textfooler", probes=("cost",))
    return [
        Cell(name_of(row), (column,), train(setting, METHODS[row], "imdb", seed), measure, seed)
        for column in setting.rows(tuple(COLUMNS), SHORT)
        for row in [COLUMNS[column]]
        for seed in setting.seeds_or(3)
    ]


def places(setting: Setting) -> list[Place]:
    """Return accuracy under attack and operations; clean accuracy and cost in tables of theirs."""
    found = []
    for column, row in COLUMNS.items():
        model = name_of(row)
        robust = Source(model, "imdb", "accuracy_under_attack", attack="textfooler")
        found.append(Place("Accuracy", column, (robust,)))
        found.append(by_rule("FLOPs", column, METHODS[row], setting.shape))
        clean = Source(model, "imdb", "accuracy")
        found.append(Place(row, "clean", (clean,), table=UNREPORTED))
        found += cost_places(row, METHODS[row], setting.shape, "imdb")
    return found


REPRODUCTION = Reproduction(
    name="imbert-table5",
    protocol=__doc__,
    choices=(
        *CHOICES,
        Choice(
            "Which reviews are attacked, how many, and by which TextFooler.",
            "The 1,000 reviews released with TextFooler where the data folder has them "
            "(textfooler_1000/imdb.txt), else as many of the test set; the attack as released.",
        ),
        Choice(
            "The sentence encoder of the attack (TextFooler: the Universal Sentence Encoder).",
            "The encoder that is given, else all-MiniLM-L6-v2 where it is installed.",
        ),
        Choice(
            "Length of the texts.", "128 tokens, which the FLOPs give away: reviews are cut there."
        ),
    ),
    cells=cells,
    places=places,
    differs=(RULE,),
)
