"""AdvGLUE (Wang et al., NeurIPS 2021): six tasks of adversarial texts, with their originals.

Its rows were kept because they fool models like BERT, so scores lie below chance and a model that
forgets its task gains. The accuracy alone therefore says little: beside it stand the baselines of
the very same rows, the accuracy on the originals, and how often both texts are right.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from holdfast.data import TASKS, Task
from holdfast.errors import InputError
from holdfast.evaluate.baselines import baselines, doubts, marks_of, share
from holdfast.evaluate.clean import SEED, Floats, accuracy_and_f1, ends, predictions, resampled
from holdfast.evaluate.measured import Measured, mark_key
from holdfast.record import Metric
from holdfast.statistics import paired_bootstrap
from holdfast.victim import Victim

LEVELS = ("word", "sentence", "human")
"""Who made a row, by `data_construction`; some methods (CheckList, StressTest) are in two."""
ADVGLUE: Mapping[str, Task] = MappingProxyType(
    {
        name: TASKS[name.removesuffix("-mm")]
        for name in ("sst2", "qqp", "mnli", "mnli-mm", "qnli", "rte")
    }
)
"""The keys of the file, each with the task whose columns and labels it has."""
_NOT_ADVERSARIAL = "glue"  # the method of GLUE's own rows, which the annotated test file holds too


@dataclass(frozen=True)
class AdvExample:
    """One row."""

    id: str
    """The task's name and the number of the row in the file, from 0."""
    task: str
    """One of `ADVGLUE`."""
    texts: tuple[str, ...]
    label: int
    level: str = ""
    """One of `LEVELS`; empty where the file does not say."""
    original: tuple[str, ...] | None = None
    """The texts before the attack; none of rows that people wrote."""


def read_advglue(path: Path) -> Mapping[str, tuple[AdvExample, ...]]:
    """Read `dev_ann.json`, {task: [row, ...]}; the plain `dev.json` has no levels or originals."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"AdvGLUE's {path} cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"AdvGLUE's {path} is not JSON in UTF-8 ({error}).") from error
    if not isinstance(content, dict) or not content or not content.keys() <= ADVGLUE.keys():
        raise InputError(
            f"{path} is not AdvGLUE's: expected a JSON object of some of {', '.join(ADVGLUE)}, "
            "such as dev_ann.json."
        )
    return {task: _rows(path, task, rows) for task, rows in content.items()}


def _rows(path: Path, task: str, rows: Any) -> tuple[AdvExample, ...]:
    found = [
        _row(path, task, number, row)
        for number, row in enumerate(rows if isinstance(rows, list) else ())
        if not (isinstance(row, dict) and row.get("method") == _NOT_ADVERSARIAL)
    ]
    if not found:
        raise InputError(f"{path} has no adversarial row of {task}; expected a list of objects.")
    return tuple(found)


def _row(path: Path, task: str, number: int, row: Any) -> AdvExample:
    known, where = ADVGLUE[task], f"{path}, {task}, row {number}"
    if not isinstance(row, dict) or not all(isinstance(row.get(n), str) for n in known.texts):
        raise InputError(f"{where}: expected an object with the texts {', '.join(known.texts)}.")
    label, level = row.get("label"), row.get("data_construction", "")
    if type(label) is not int or not 0 <= label < len(known.labels):
        raise InputError(f"{where}: the label is {label!r}; expected 0 to {len(known.labels) - 1}.")
    if level not in ("", *LEVELS):
        raise InputError(
            f"{where}: data_construction is {level!r}; expected one of {', '.join(LEVELS)}."
        )
    # only the text that was attacked has an original; the other one of a pair is its own
    given = [row.get(f"original_{name}") for name in known.texts]
    texts = tuple(row[name] for name in known.texts)
    original = tuple(text if old is None else old for old, text in zip(given, texts, strict=True))
    return AdvExample(
        f"{task}:{number}", task, texts, label, level, original if any(given) else None
    )


def advglue_task(victim: Victim, rows: Sequence[AdvExample], *, positive: int = 1) -> Measured:
    """Return the accuracies of one task's rows, of all and of each level, with baselines.

    What compares with the originals is over the rows that have one, and so are its marks.
    `positive` is the code of the class that F1 is about, see `clean`.
    """
    if not rows:
        raise InputError("There are no rows of AdvGLUE to measure; give at least one.")
    _require_classes(victim, rows[0].task)
    labels = [row.label for row in rows]
    found = predictions(victim, [row.texts for row in rows])
    after = marks_of(found, labels)
    judged = _judged(victim, rows, after)
    metrics = [*accuracy_and_f1(found, labels, victim.classes, rows[0].task, positive)]
    marks = {"accuracy": after}
    for level in ("", *LEVELS):
        of_level = [row for row in judged if level in ("", row.level)]
        some = _compared(of_level, level, victim.classes)
        if level:
            some = [*_accuracy(of_level, level, victim.classes), *some]
        metrics += [metric for metric, _ in some]
        marks |= {mark_key(metric.name, level): of for metric, of in some if of}
    paired = sum(row.original is not None for row in rows)
    notes = (*doubts(found, labels), *_without_original(len(rows), paired))
    return Measured(tuple(metrics), marks, notes=notes)


def _require_classes(victim: Victim, task: str) -> None:
    expected = len(ADVGLUE[task].labels)
    if victim.classes != expected:
        raise InputError(
            f"The model tells {victim.classes} classes apart and AdvGLUE's {task} has {expected}; "
            "measure a model that was trained on this task."
        )


def _without_original(rows: int, paired: int) -> tuple[str, ...]:
    if paired == rows:
        return ()
    if not paired:
        return ("No row has an original text: what compares with it is left out.",)
    return (
        f"{rows - paired} of the {rows} rows have no original text: original accuracy, paired "
        f"accuracy and robustness gap are over the other {paired}.",
    )


@dataclass(frozen=True)
class _Judged:
    """A row with marks: 1 where the model is right."""

    label: int
    level: str
    after: str
    before: str
    """Of the original text; empty where there is none."""

    @property
    def both(self) -> str:
        return min(self.before, self.after)


def _judged(victim: Victim, rows: Sequence[AdvExample], after: str) -> list[_Judged]:
    originals = [(row.original, row.label) for row in rows if row.original is not None]
    found = predictions(victim, [texts for texts, _ in originals])
    marks = iter(marks_of(found, [label for _, label in originals]))
    return [
        _Judged(row.label, row.level, mark, "" if row.original is None else next(marks))
        for row, mark in zip(rows, after, strict=True)
    ]


Marked = tuple[Metric, str]
"""A metric and its marks; empty where it is no share."""


def _accuracy(rows: Sequence[_Judged], group: str, classes: int) -> list[Marked]:
    if not rows:
        return []
    known = baselines([row.label for row in rows], classes)
    marks = "".join(row.after for row in rows)
    return [(share("accuracy", marks, group=group, **vars(known)), marks)]


def _compared(rows: Sequence[_Judged], group: str, classes: int) -> list[Marked]:
    """Return what needs the originals; nothing where no row has one."""
    rows = [row for row in rows if row.before]
    if not rows:
        return []
    known = baselines([row.label for row in rows], classes)
    before, after = ("".join(getattr(row, of) for row in rows) for of in ("before", "after"))
    both = "".join(row.both for row in rows)
    # a constant is right about both texts or about none; chance has to be right twice
    twice = {"majority": known.majority, "chance": known.chance**2}
    gap = paired_bootstrap([before], [after])
    return [
        (share("original_accuracy", before, group=group, **vars(known)), before),
        (share("paired_accuracy", both, group=group, **twice), both),
        (Metric("robustness_gap", gap.value, gap.low, gap.high, group=group), ""),
    ]


def advglue_total(per_task: Mapping[str, Measured]) -> tuple[Metric, Metric]:
    """Return `plain_mean` and `official_score` of what `advglue_task` gave for the six tasks.

    Intervals are by bootstrap over the rows of each task. Unless all six are there the two have
    no value: a mean of fewer tasks is another figure.
    """
    if not per_task.keys() >= ADVGLUE.keys():
        return Metric("plain_mean", None), Metric("official_score", None)
    rng = np.random.default_rng(SEED)
    known = {task: _Score.pair_of(per_task[task], rng) for task in ADVGLUE}
    return (
        _mean_of("plain_mean", _plain, {task: plain for task, (plain, _) in known.items()}),
        _mean_of("official_score", _official, {task: of for task, (_, of) in known.items()}),
    )


@dataclass(frozen=True)
class _Score:
    """A metric of one task, and what it is on rows that are drawn anew."""

    metric: Metric
    drawn: Floats

    @classmethod
    def pair_of(cls, measured: Measured, rng: np.random.Generator) -> tuple["_Score", "_Score"]:
        """Return the accuracy, and the metric by which GLUE ranks the task."""
        whole = {metric.name: metric for metric in measured.metrics if not metric.group}
        accuracy = whole["accuracy"]
        right, total = accuracy.count or 0, accuracy.total or 0
        hits = _hits(whole["f1"].value or 0.0, right, total) if "f1" in whole else 0
        f1, shares = resampled(hits, total - right, total, rng)
        plain = cls(accuracy, shares)
        return plain, cls(whole["glue"], (shares + f1) / 2) if "glue" in whole else plain


def _hits(f1: float, right: int, total: int) -> int:
    """Return the true positives behind F1 = 2 hits / (2 hits + wrong)."""
    # with nothing wrong F1 does not say how many they are, and is 1 however rows are drawn
    return round((total - right) * f1 / (2 * (1 - f1))) if f1 < 1 else total


Means = Callable[[Mapping[str, Any]], Any]


def _plain(of: Mapping[str, Any]) -> Any:
    return sum(of[task] for task in ADVGLUE) / len(ADVGLUE)


def _official(of: Mapping[str, Any]) -> Any:
    both = (of["mnli"] + of["mnli-mm"]) / 2
    return (of["sst2"] + of["qqp"] + both + of["qnli"] + of["rte"]) / 5


def _mean_of(name: str, mean: Means, scores: Mapping[str, _Score]) -> Metric:
    def over(field: str) -> float | None:
        values = {task: getattr(score.metric, field) for task, score in scores.items()}
        return None if None in values.values() else float(mean(values))

    interval = ends(mean({task: score.drawn for task, score in scores.items()}))
    return Metric(name, over("value"), *interval, majority=over("majority"), chance=over("chance"))
