"""IM-BERT's Table 6: accuracy on SST-2 of AdvGLUE against what the model costs.

BERT, SMART, and the connection on each quarter of the layers and on all of them: Table 3's models
and one more. The paper's lower rows are RoBERTa-large's, on layers 4-7 and 11-14 of 24; they are
run instead of BERT's when the given model is a RoBERTa. FLOPs are given by the paper's rule, by the
same rule for BERT-base, and as counted; the paper charges SMART with what its training costs.
"""

from holdfast.reproduce.cell import Cell
from holdfast.reproduce.imbert import (
    CHOICES,
    METHODS,
    RULE,
    Method,
    advglue,
    beside,
    by_rule,
    cells_of,
    cost_places,
    printed,
    quarters,
    weights,
)
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting, Shape
from holdfast.reproduce.table import Place

OF_BERT = {
    "BERT": "BERT",
    "SMART-BERT": "SMART",
    "IM-BERT (1-3)": "Layer (1-3)",
    "IM-BERT (4-6)": "Layer (4-6)",
    "IM-BERT (7-9)": "Layer (7-9)",
    "IM-BERT (10-12)": "Layer (10-12)",
    "IM-BERT (All)": "IM-BERT",
}
"""Row to the name of the model, which is Table 3's where they are the same."""
OF_ROBERTA = {
    "SMART-RoBERTa": "SMART",
    "IM-RoBERTa (4-7)": "Layers 4-7 of 24",
    "IM-RoBERTa (11-14)": "Layers 11-14 of 24",
    "IM-RoBERTa (All)": "IM-BERT",
}
SHORT = ("BERT", "IM-BERT (4-6)", "IM-BERT (All)", "IM-RoBERTa (11-14)", "IM-RoBERTa (All)")


def _models(setting: Setting) -> dict[str, str]:
    return OF_ROBERTA if setting.shape.roberta else OF_BERT


def _method(model: str, shape: Shape) -> Method:
    if model.startswith("Layer ("):
        place = [*OF_BERT.values()].index(model) - 2
        return printed(5, quarters(shape)[place])
    if model.startswith("Layers "):
        first, last = (int(end) for end in model.split()[1].split("-"))
        start = max(1, first * shape.layers // 24)
        return printed(5, f"{start}-{max(start, last * shape.layers // 24)}")
    return METHODS[model]


def cells(setting: Setting) -> list[Cell]:
    """Return every row of the given model's family."""
    models = _models(setting)
    shown = [row for row in setting.rows(tuple(models), SHORT) if row in models]
    rows = [(models[row], _method(models[row], setting.shape)) for row in shown]
    columns = ("Accuracy", "FLOPs", "Params")
    return cells_of(setting, rows, ("sst2",), seeds=5, columns=columns, cost=True)


def places(setting: Setting) -> list[Place]:
    """Return accuracy, operations by the rule, and weights."""
    found = []
    for row, model in _models(setting).items():
        method = _method(model, setting.shape)
        found += [
            Place(row, "Accuracy", (advglue(model, "sst2"),)),
            by_rule(row, "FLOPs", method, setting.shape),
            weights(row, model),
        ]
        found += cost_places(model, method, setting.shape, "sst2")
        found += beside(model, ("sst2",))
    return found


REPRODUCTION = Reproduction(
    name="imbert-table6",
    protocol=__doc__,
    choices=(
        *CHOICES,
        Choice(
            "What SMART's 67.09 GFLOPs are (three forward passes).",
            "What its training costs; here every row gives a forward pass in use.",
        ),
        Choice(
            "Layers of a model with other than 12 (BERT) or 24 (RoBERTa) of them.",
            "The same part of its depth.",
        ),
    ),
    cells=cells,
    places=places,
    differs=(RULE,),
)
