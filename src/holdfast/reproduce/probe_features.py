"""The features of texts in two dimensions, and how often the nearest neighbour has their class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.data import Example, Task
from holdfast.errors import InputError
from holdfast.evaluate.cost import model_inputs
from holdfast.implicit.layers import positions
from holdfast.implicit.quiet import quiet_transformers
from holdfast.objectives.features import Features, pick
from holdfast.record import Metric, RunRecord, Series, describe_environment, encode
from holdfast.reproduce.cell import Probed
from holdfast.statistics import wilson
from holdfast.train.loading import open_classifier
from holdfast.victim import ModelVictim
from holdfast.victim.checkpoint import default_device

AGREEMENT = "neighbour_agreement"
TASK = "features"
LENGTH, BATCH = 300, 32
Floats = NDArray[np.float64]


def features_record(
    probed: Probed,
    victim: ModelVictim,
    task: Task,
    examples: Sequence[Example],
    features: Features,
) -> RunRecord:
    """Return the map of the texts' features, one cloud a class, and how pure it is."""
    cell = probed.cell
    vectors = vectors_of(victim, examples, features)
    labels = np.array([example.label for example in examples])
    points = two_dimensions(vectors)
    clouds = tuple(_cloud(points[labels == code], name) for code, name in enumerate(task.labels))
    count = int((labels[nearest(vectors)] == labels).sum())
    low, high = wilson(count, len(labels))
    agreement = Metric(AGREEMENT, count / len(labels), low, high, count, len(labels))
    return RunRecord(
        kind="evaluation",
        model=cell.row,
        task=TASK,
        seed=cell.seed,
        config=encode(probed),
        training=None if cell.train is None else encode(cell.train),
        metrics=(agreement,),
        series=clouds,
        environment=describe_environment(),
    )


@torch.no_grad()
def vectors_of(victim: ModelVictim, examples: Sequence[Example], features: Features) -> Floats:
    """Return the vector that stands for each text, as the model reads it."""
    rows = []
    for start in range(0, len(examples), BATCH):
        inputs = model_inputs(victim, [e.texts for e in examples[start : start + BATCH]])
        base: Any = victim.model.base_model
        states = base(**inputs).last_hidden_state
        rows.append(pick(features, victim.model, states, inputs))
    found: Floats = torch.cat(rows).double().cpu().numpy()
    return found


def pretrained_victim(name: str, *, word_level: bool) -> ModelVictim:
    """Return a model that nobody fine-tuned; what its new head says is of no interest."""
    with quiet_transformers():
        classifier = open_classifier(name)
    model: Any = classifier.model
    tokenizer = classifier.tokenizer
    length = min(LENGTH, int(tokenizer.model_max_length), positions(model) or LENGTH)
    model.to(default_device())
    return ModelVictim(model, tokenizer, max_length=length, word_level=word_level)


def two_dimensions(vectors: Floats) -> Floats:
    """Return the map of t-SNE, started from the principal components: no chance is in it."""
    try:
        from sklearn.manifold import TSNE  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError(
            "The map of features is made by scikit-learn, which is not installed; run "
            "`pip install holdfast[features]`."
        ) from error
    perplexity = min(30.0, max(1.0, (len(vectors) - 1) / 3))
    mapped: Any = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(vectors)
    return np.asarray(mapped, dtype=np.float64)


def nearest(vectors: Floats) -> NDArray[np.int64]:
    """Return the number of each vector's nearest other one, by cosine."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-12)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    found: NDArray[np.int64] = cosines.argmax(axis=1)
    return found


def _cloud(points: Floats, name: str) -> Series:
    x, y = (tuple(np.round(column, 3).tolist()) for column in points.T)
    return Series("features", x, y, group=name)
