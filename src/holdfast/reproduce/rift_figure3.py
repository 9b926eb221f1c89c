"""RIFT's Figure 3: the features of 500 IMDB texts in two dimensions, before and after.

(a) Before fine-tuning. (b) After maximising I(S;Y): standard fine-tuning. (c) With I(S;T), (d) with
I(S;T|Y): the information term without an adversary. t-SNE maps the features of each model; the map
is a picture and its distances mean little, so that each comes with a number: how often a text's
nearest neighbour, among the features themselves, has its class.
"""

from holdfast.reproduce import rift
from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.probe_features import AGREEMENT
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source

PANELS = {
    "(a) before": "before fine-tuning",
    "(b) I(S;Y)": "Standard",
    "(c) I(S;T)": "Informative unconditional",
    "(d) I(S;T|Y)": "Informative",
}
"""Panel to the name of its model."""
NEIGHBOURS = "How often the nearest neighbour has the same class"


def cells(setting: Setting) -> list[Cell]:
    """Return the four models."""
    trained = {
        "Standard": rift.standard(),
        "Informative unconditional": rift.informative(setting, rift.IMDB, conditional=False),
        "Informative": rift.informative(setting, rift.IMDB, conditional=True),
    }
    texts = at_most(500, None if setting.budget.attacked is None else 4 * setting.budget.attacked)
    measure = Measure("imdb", examples=texts, evaluated=False, probes=("features",))
    return [Cell("before fine-tuning", ("features",), None, measure)] + [
        Cell(row, ("features",), rift.train(setting, method, rift.IMDB, seed), measure, seed)
        for row, method in trained.items()
        for seed in setting.seeds_or(1)
    ]


def places(setting: Setting) -> list[Place]:
    """Return the agreement of neighbours in each panel; the maps are in the records."""
    return [
        Place(panel, "agreement", (Source(model, "features", AGREEMENT),), table=NEIGHBOURS)
        for panel, model in PANELS.items()
    ]


REPRODUCTION = Reproduction(
    name="rift-figure3",
    protocol=__doc__,
    choices=(
        *rift.CHOICES[:2],
        Choice(
            "Whether (c) and (d) were trained with the adversary.",
            "Without: the caption names the information terms alone.",
        ),
        Choice(
            "(c) and (d) show features projected to a circle by heads of their own.",
            "The features themselves, as in (a) and (b), so that all four can be compared.",
        ),
        Choice("Perplexity and start of t-SNE.", "30 (less for few texts), principal components."),
    ),
    cells=cells,
    places=places,
)
