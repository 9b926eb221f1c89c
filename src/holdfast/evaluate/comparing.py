"""Records side by side: seeds taken together, models compared on the same examples."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.evaluate.trainings import Attempts, compare_trainings, trainings
from holdfast.record import Metric, RunRecord
from holdfast.record.pooling import pool
from holdfast.statistics import Comparison, holm

COMPARED = ("accuracy_under_attack", "white_box_accuracy", "paired_accuracy", "accuracy")
"""Of these the first that a record has marks of is what models are compared by. On AdvGLUE, whose
rows fool good models more than bad ones, that is the paired accuracy."""


@dataclass(frozen=True)
class Group:
    """What can be compared: one task, one attack or none, the same examples."""

    task: str
    attack: str | None
    sample: int | None
    """Seed of the examples drawn."""
    models: Mapping[str, tuple[RunRecord, ...]]
    """Name to its records, by their seeds: one for each training and seed of the attack."""

    @property
    def title(self) -> str:
        """The task, the sample where it is not the first, and the attack."""
        task = f"{self.task} (sample {self.sample})" if self.sample else self.task
        plain = self.attack is None and not self.task.startswith("advglue")
        return ", ".join(filter(None, (task, "clean" if plain else self.attack)))


@dataclass(frozen=True)
class Finding:
    """A model against another one in one group."""

    group: Group
    metric: str
    comparison: Comparison

    def sentence(self) -> str:
        """Return what was found, and where."""
        paired = ", both texts right" if self.metric == "paired_accuracy" else ""
        return f"{self.group.title}{paired}: {self.comparison.sentence()}."


def grouped(records: Iterable[RunRecord]) -> list[Group]:
    """Return the groups of evaluation records in the order in which they first appear."""
    found: dict[tuple[str, str | None, str], dict[str, list[RunRecord]]] = {}
    for record in records:
        key = (record.task, record.attack, record.checksums.get("data", ""))
        found.setdefault(key, {}).setdefault(record.model, []).append(record)
    return [
        Group(task, attack, _sample(models), {n: _ordered(of) for n, of in models.items()})
        for (task, attack, _), models in found.items()
    ]


def _sample(models: Mapping[str, Sequence[RunRecord]]) -> int | None:
    return next(iter(models.values()))[0].seeds.get("sample")


def _ordered(records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """Return records by their seeds, so that those of two models are paired."""
    return tuple(record for training in trainings(records) for record in training)


def findings(records: Iterable[RunRecord], against: str) -> list[Finding]:
    """Compare every model with `against` wherever both were measured on the same examples.

    The p-values are corrected for all comparisons together (Holm).
    """
    found = []
    for group in grouped(records):
        metric = next((name for name in COMPARED if _all_marked(group, name)), None)
        if metric is None or against not in group.models:
            continue
        marks = {name: _attempts(of, metric) for name, of in group.models.items()}
        for name in group.models:
            if name != against:
                made = compare_trainings(name, against, marks[name], marks[against])
                found.append(Finding(group, metric, made))
    corrected = holm([finding.comparison.p for finding in found])
    return [
        replace(f, comparison=replace(f.comparison, p=p, corrected_for=len(found)))
        for f, p in zip(found, corrected, strict=True)
    ]


def _all_marked(group: Group, metric: str) -> bool:
    return all(record.marks.get(metric) for of in group.models.values() for record in of)


def _attempts(records: Sequence[RunRecord], key: str) -> list[Attempts]:
    """Return the marks of each training, one text for each seed of the attack."""
    return [[record.marks.get(key, "") for record in own] for own in trainings(records)]


def unmatched(records: Iterable[RunRecord], against: str) -> list[str]:
    """Return a sentence for each model whose examples are not those of `against`."""
    groups = grouped(records)
    places = {(g.task, g.attack, g.sample) for g in groups if against in g.models}
    return [
        f"{group.title}: {name} was measured on other examples than {against}, so the two are "
        "not compared."
        for group in groups
        for name in group.models
        if against not in group.models and (group.task, group.attack, group.sample) in places
    ]


def pooled(records: Sequence[RunRecord], name: str, part: str = "") -> Metric | None:
    """Return a metric over the trainings, as reports have it; see `holdfast.record.pooling`.

    `part`: the group of the metric, such as a level of AdvGLUE.
    """
    if (found := pool(records, name, part)) is not None:
        return found.metric
    return next((m for record in records if (m := record.metric(name, part)) is not None), None)
