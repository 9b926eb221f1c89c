"""Models that answer one class whatever the text: no attack moves them, and none of them is robust.

Predictions prove it: those in the outcomes, or those that an evaluation counted and noted. An
accuracy that is just the share of the majority class only looks like it, and is told as that.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from holdfast.record import RunRecord
from holdfast.report.cells import Cells
from holdfast.report.numbers import joined
from holdfast.report.scores import ADVGLUE, Column, Measurement

FEWEST = 20  # examples from which on the same answer to all of them is no accident
PROVEN, SUSPECTED = "one answer to everything", "scores exactly what a constant answer would"
_NOTE = re.compile(r"answers one class \(.*?\) for 100 %")
"""What `holdfast evaluate` notes of a model whose predictions are all the same."""

Run = tuple[int, str]
"""A training: its seed and its checkpoint."""
Tasks = Mapping[Run, Mapping[str, Sequence[Measurement]]]
"""The accuracies of a model by training and task."""


class Constant(NamedTuple):
    """A model that is, or looks like, a constant in some of its trainings, on some of its tasks."""

    model: str
    words: str
    proven: bool
    """Whether its predictions say so; else its accuracy alone does."""
    places: frozenset[tuple[Run, str]]
    """The trainings and tasks it is said of; AdvGLUE's total, where it is said of all its parts."""

    def concerns(self, cells: Cells, column: Column) -> bool:
        """Return whether such a training has a part in the model's number of a column."""
        found = cells.found.get((self.model, column), ())
        return any((one.run, column.task) in self.places for one in found)


def constant_models(cells: Cells, one_answer: Iterable[RunRecord]) -> dict[str, Constant]:
    """Return the models that answer one class whatever the text, with words to say so.

    `one_answer` are the records whose outcomes all have the same prediction.
    """
    seen = {id(record) for record in one_answer}
    found: dict[str, dict[Run, dict[str, list[Measurement]]]] = {}
    for (model, column), measurements in cells.found.items():
        if column.metric == "accuracy" and not column.group:
            runs = found.setdefault(model, defaultdict(lambda: defaultdict(list)))
            for one in measurements:
                runs[one.run][column.task].append(one)
    told = (_constant(model, runs, seen) for model, runs in found.items())
    return {one.model: one for one in told if one is not None}


def _constant(model: str, runs: Tasks, seen: set[int]) -> Constant | None:
    proven = {
        (run, task)
        for run, tasks in runs.items()
        for task, some in tasks.items()
        if any(_is_proven(one, seen) for one in some)
    }
    suspected = {
        (run, task)
        for run, tasks in runs.items()
        if _looks_constant([one for some in tasks.values() for one in some])
        for task in tasks
    }
    if not proven and not suspected:
        return None
    caught = proven or suspected
    words = (PROVEN if proven else SUSPECTED) + _where(caught, runs)
    return Constant(model, words, bool(proven), frozenset(_with_totals(proven | suspected, runs)))


def _where(caught: set[tuple[Run, str]], runs: Tasks) -> str:
    """Return on which tasks, if the same trainings read on others, and in how many trainings."""
    those = {run for run, _ in caught}
    reads = any(
        (run, task) not in caught and any(map(_is_above, some))
        for run in those
        for task, some in runs[run].items()
    )
    names = list(dict.fromkeys(task for run in runs for task in runs[run] if (run, task) in caught))
    on = f" on {joined([name.replace(ADVGLUE, 'AdvGLUE') for name in names])}" if reads else ""
    return on + ("" if len(those) == len(runs) else f" in {len(those)} of {len(runs)} trainings")


def _with_totals(caught: set[tuple[Run, str]], runs: Tasks) -> set[tuple[Run, str]]:
    totals = set()
    for run, tasks in runs.items():
        parts = [task for task in tasks if task.startswith(f"{ADVGLUE}/")]
        if parts and all((run, task) in caught for task in parts):
            totals.add((run, ADVGLUE))
    return caught | totals


def _is_proven(measurement: Measurement, seen: set[int]) -> bool:
    record = measurement.record
    return id(record) in seen or any(_NOTE.search(note) for note in record.notes)


def _is_above(measurement: Measurement) -> bool:
    value, majority = measurement.metric.value, measurement.metric.majority
    return None not in (value, majority) and not measurement.metric.no_better_than_majority


def _looks_constant(measurements: Sequence[Measurement]) -> bool:
    """Return whether one accuracy is just the majority's, and none of the training is above it."""
    known = [(m.metric.value, m.metric.majority, m.metric.total or 0) for m in measurements]
    exact = any(
        total >= FEWEST and value is not None and share is not None and abs(value - share) < 1e-9
        for value, share, total in known
    )
    return exact and not any(map(_is_above, measurements))
