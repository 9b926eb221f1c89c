"""How a random move of the embeddings grows through the layers of a model, scheme by scheme."""

from collections.abc import Sequence
from typing import Any

from holdfast.implicit.capture import Batch
from holdfast.implicit.perturbation import PerturbationGrowth, perturbation_growth
from holdfast.record import Metric, RunRecord, Series, describe_environment, encode
from holdfast.reproduce.cell import Probed
from holdfast.train.loading import open_classifier

GROWTH = "growth"
TASK = "propositions"


def growth_record(probed: Probed, texts: Sequence[str]) -> RunRecord:
    """Return the growth with each scheme, whose name is the group; the model is as it came."""
    classifier = open_classifier(probed.model)
    limit = min(128, int(classifier.tokenizer.model_max_length))
    encoded: Any = classifier.tokenizer(
        list(texts), return_tensors="pt", padding=True, truncation=True, max_length=limit
    )
    batch: Batch = dict(encoded)
    growths = perturbation_growth(classifier.model, batch)
    return RunRecord(
        kind="evaluation",
        model=probed.cell.row,
        task=TASK,
        seed=probed.cell.seed,
        config=encode(probed),
        metrics=tuple(map(_growth, growths)),
        series=tuple(map(_curve, growths)),
        environment=describe_environment(),
        notes=tuple(map(_told, growths)),
    )


def _growth(growth: PerturbationGrowth) -> Metric:
    return Metric(GROWTH, growth.mean[-1] / growth.mean[0], group=growth.name)


def _curve(growth: PerturbationGrowth) -> Series:
    layers = tuple(float(layer) for layer in range(len(growth.mean)))
    return Series(GROWTH, layers, tuple(v / growth.mean[0] for v in growth.mean), growth.name)


def _told(growth: PerturbationGrowth) -> str:
    """Return how texts differ, and how well equations were solved."""
    low, high = growth.low[-1] / growth.mean[0], growth.high[-1] / growth.mean[0]
    spread = f"{growth.name}: from {low:.2f} to {high:.2f} in four of five texts"
    if growth.residual is None:
        return f"{spread}; nothing is solved."
    return f"{spread}; solved to a mean relative residual of {growth.residual:.1e}."
