"""The cells of all tables: which records each is made of, and its number."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from holdfast.record import Metric, RunRecord
from holdfast.record.attacks import without_settings
from holdfast.record.pooling import BEFORE, REPEATS, lined_up, marks_of
from holdfast.report.scores import Column, Measurement, Score, score

JUDGED = ("accuracy_under_attack", "white_box_accuracy", "hull_accuracy")
"""Metrics over all examples of a task: knowing nothing scores on them what it does clean."""
MOST_DRAWN, FEWEST_REPEATS = 150_000_000, 400
"""How many marks all bootstraps of a report draw together, as far as they have enough repeats."""

Key = tuple[str, Column]
"""Model and column."""


@dataclass
class Cells:
    """The measurements of records by model and column."""

    found: Mapping[Key, Sequence[Measurement]]
    repeats: int = REPEATS
    """Draws of each bootstrap: fewer where there are very many cells."""
    _scores: dict[Key, Score | None] = field(default_factory=dict)
    _known: dict[tuple[int, ...], Score | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, records: Iterable[RunRecord], kind: Literal["evaluation", "training"] = "evaluation"
    ) -> "Cells":
        """Gather what the records of one kind measured."""
        found: dict[Key, list[Measurement]] = defaultdict(list)
        for record in records:
            if record.kind == kind:
                for metric in record.metrics:
                    found[record.model, _column(record, metric)].append(Measurement(record, metric))
        return cls(dict(found), _repeats(found.values()))

    @property
    def models(self) -> list[str]:
        """The models, in the order of the records."""
        return list(dict.fromkeys(model for model, _ in self.found))

    @property
    def columns(self) -> list[Column]:
        """The columns, in the order of the records."""
        return list(dict.fromkeys(column for _, column in self.found))

    def shares(self) -> list[Column]:
        """Return the columns of accuracies, whatever part of the examples they are about."""
        return [c for c in self.columns if c.metric in ("accuracy", "hull_accuracy")]

    def score(self, model: str, column: Column) -> Score | None:
        """Return the number of a cell, or none where nothing was measured."""
        key = (model, column)
        if key not in self._scores:
            found = self.score_of(self.found.get(key, ()))
            known = found is None or None not in (found.majority, found.chance)
            if found is not None and not known and column.attack is not None:
                found = self._with_baselines(found, model, column)
            self._scores[key] = found
        return self._scores[key]

    def score_of(self, measurements: Sequence[Measurement]) -> Score | None:
        """Return the number of some measurements; the same ones are counted once."""
        key = tuple(sorted(id(one.metric) for one in measurements))
        if key not in self._known:
            self._known[key] = score(measurements, self.repeats)
        return self._known[key]

    def _with_baselines(self, found: Score, model: str, column: Column) -> Score:
        """Return what a share under attack would be without reading: no attack changes that."""
        clean = self.score(model, Column(column.task, None, "accuracy"))
        if column.metric not in JUDGED or clean is None or clean.data != found.data:
            return found
        return replace(found, majority=clean.majority, chance=clean.chance)

    def scores(self, column: Column) -> dict[str, Score]:
        """Return the numbers of a column by model."""
        found = ((model, self.score(model, column)) for model in self.models)
        return {model: one for model, one in found if one is not None}

    def marks(self, model: str, column: Column) -> list[str]:
        """Return which examples were right, a string for each training; empty: not known."""
        found = self.found.get((model, column), ())
        return lined_up((one.record for one in found), column.metric, column.group)


def _column(record: RunRecord, metric: Metric) -> Column:
    """Return what a metric is about; before an attack its settings make no difference."""
    attack = without_settings(record.attack) if metric.name in BEFORE else record.attack
    return Column(record.task, attack, metric.name, metric.group)


def _repeats(cells: Iterable[Sequence[Measurement]]) -> int:
    """Return how often to draw: each cell is drawn for its interval, and once to compare it."""
    marks = sum(
        2 * len(marks_of(found[0].record, found[0].metric.name, found[0].metric.group))
        for found in cells
    )
    allowed = MOST_DRAWN // max(1, marks) // 100 * 100
    return max(FEWEST_REPEATS, min(REPEATS, allowed))
