"""What knowing nothing would score, and how to tell a model that knows nothing from a robust one.

A model that always gives the same answer cannot be attacked, and AdvGLUE's rows were chosen
because they fool good models: beside every figure stands what the most frequent class would get.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.data import majority
from holdfast.errors import InputError
from holdfast.record import Metric
from holdfast.statistics import wilson

_NEARLY_ALL = 0.95  # of the answers in one class, from which on they are hardly answers
_FEWEST = 5  # rows: fewer may well be answered alike
_OTHERS = 2  # rows of other classes at least: with fewer a good model may answer alike


@dataclass(frozen=True)
class Baselines:
    """Accuracy without reading the texts."""

    majority: float
    """Of always answering the most frequent class of these very examples."""
    chance: float
    """Of answering each class equally often, at random."""


def baselines(labels: Sequence[int], classes: int) -> Baselines:
    """Return the baselines of examples with these labels."""
    if not labels:
        raise InputError("There is no example to compute a baseline of; give at least one.")
    return Baselines(majority(labels), 1 / classes)


def share(
    name: str,
    marks: str,
    *,
    group: str = "",
    majority: float | None = None,
    chance: float | None = None,
) -> Metric:
    """Return the share of 1s among the marks with Wilson's interval; of no marks, no value."""
    count, total = marks.count("1"), len(marks)
    if not total:
        return Metric(name, None, count=0, total=0, group=group)
    low, high = wilson(count, total)
    return Metric(name, count / total, low, high, count, total, group, majority, chance)


def marks_of(predictions: Sequence[int], labels: Sequence[int]) -> str:
    """Return a 1 where the prediction is the label, else a 0."""
    return "".join("01"[one == other] for one, other in zip(predictions, labels, strict=True))


def doubts(predictions: Sequence[int], labels: Sequence[int]) -> tuple[str, ...]:
    """Return what makes an accuracy suspicious: answers that are no answers.

    A prediction below 0 stands for something that is no number.
    """
    found, rows = [], len(predictions)
    if missing := sum(prediction < 0 for prediction in predictions):
        found.append(f"{missing} of {rows} rows got no number for an answer; they count as wrong.")
    answered = Counter(prediction for prediction in predictions if prediction >= 0)
    often, count = max(answered.items(), key=lambda item: item[1], default=(0, 0))
    others = sum(label != often for label in labels)
    if rows >= _FEWEST and others >= _OTHERS and count >= _NEARLY_ALL * rows:
        found.append(
            f"The model answers one class ({often}) for {100 * count / rows:.0f} % of the {rows} "
            "rows: its accuracy is that of a constant, and says nothing of how it holds."
        )
    return tuple(found)
