"""Accuracy on the texts as they are, and the metric by which GLUE ranks the task."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.data import Example, Task
from holdfast.errors import InputError
from holdfast.evaluate.baselines import baselines, doubts, marks_of, share
from holdfast.evaluate.measured import Measured
from holdfast.record import Metric
from holdfast.victim import Victim

RANKED_BY_F1 = ("qqp",)
"""Tasks that GLUE ranks by the mean of accuracy and F1; the others by the accuracy alone."""

Floats = NDArray[np.float64]
REPEATS, SEED = 2000, 0  # of a bootstrap


def clean(
    victim: Victim, examples: Sequence[Example], task: Task, *, positive: int = 1
) -> Measured:
    """Return the accuracy, and of a task that GLUE ranks by F1 that and GLUE's metric.

    `positive` is the code of the class F1 is about: a model may keep its labels in another order.
    """
    if not examples:
        raise InputError("There are no examples to measure an accuracy on; give at least one.")
    labels = [example.label for example in examples]
    found = predictions(victim, [example.texts for example in examples])
    return Measured(
        accuracy_and_f1(found, labels, victim.classes, task.name, positive),
        {"accuracy": marks_of(found, labels)},
        notes=doubts(found, labels),
    )


def predictions(victim: Victim, texts: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the class the victim gives to each text; -1 where its answer is no number."""
    answers = victim.score(texts)
    found: list[int] = np.where(np.isnan(answers).any(axis=1), -1, answers.argmax(axis=1)).tolist()
    return found


def accuracy_and_f1(
    found: Sequence[int], labels: Sequence[int], classes: int, task: str, positive: int = 1
) -> tuple[Metric, ...]:
    """Return the metrics of predictions: `accuracy`, and where GLUE counts it `f1` and `glue`."""
    known = baselines(labels, classes)
    marks = marks_of(found, labels)
    accuracy = share("accuracy", marks, majority=known.majority, chance=known.chance)
    if task not in RANKED_BY_F1:
        return (accuracy,)
    about = [label == positive for label in labels]
    return (accuracy, *_f1_and_glue(marks, about, known.majority))


def _f1_and_glue(marks: str, about: Sequence[bool], majority: float) -> tuple[Metric, Metric]:
    """Return F1 and its mean with the accuracy, with intervals over the rows.

    `about` says which rows are of the class that F1 is about.
    """
    hits = sum(mark == "1" and own for mark, own in zip(marks, about, strict=True))
    wrong, total = marks.count("0"), len(marks)
    value, right = float(f1(np.float64(hits), np.float64(wrong))), (total - wrong) / total
    drawn, drawn_right = resampled(hits, wrong, total, np.random.default_rng(SEED))
    # always answering that class hits all of its rows; always answering the other hits none
    constant = 2 * sum(about) / (sum(about) + total) if 2 * sum(about) > total else 0.0
    return (
        Metric("f1", value, *ends(drawn), majority=constant),
        Metric(
            "glue",
            (right + value) / 2,
            *ends((drawn_right + drawn) / 2),
            majority=(majority + constant) / 2,
        ),
    )


def f1(hits: Floats | np.float64, wrong: Floats | np.float64) -> Floats:
    """Return 2 hits / (2 hits + wrong); 0 where there is neither.

    Every wrong answer of two classes is a false positive or a false negative, so that F1 needs no
    more than this.
    """
    return np.asarray(2 * hits / np.maximum(2 * hits + wrong, 1))


def resampled(hits: int, wrong: int, total: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return F1 and accuracy of rows drawn anew, with replacement, as often as `REPEATS`."""
    shares = np.array([hits, wrong, total - hits - wrong]) / total
    drawn = rng.multinomial(total, shares, size=REPEATS).astype(np.float64)
    return f1(drawn[:, 0], drawn[:, 1]), 1 - drawn[:, 1] / total


def ends(drawn: Floats) -> tuple[float, float]:
    """Return the ends of the 95 % interval."""
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return low, high
