"""Records side by side: seeds taken together, models compared on the same examples."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.evaluate.trainings import Attempts, compare_trainings, trainings
from holdfast.record import Metric, RunRecord
from holdfast.record.attacks import settings_apart, with_settings
from holdfast.record.pooling import data_of, pool
from holdfast.statistics import Comparison, holm

ATTACKED = ("accuracy_under_attack", "white_box_accuracy")
"""What models are compared by under an attack: the first that any of them has marks of."""
CLEAN = ("paired_accuracy", "accuracy")
"""What they are compared by without one. On AdvGLUE, whose rows fool good models more than bad
ones, that is the paired accuracy."""


def is_advglue(task: str) -> bool:
    """Whether a record's task is AdvGLUE, or one of its parts; a file may be called alike."""
    return task == "advglue" or task.startswith("advglue/")


@dataclass(frozen=True)
class Group:
    """What can be compared: one task, one attack with its settings or none, the same examples."""

    task: str
    attack: str | None
    sample: int | None
    """Seed of the examples drawn."""
    models: Mapping[str, tuple[RunRecord, ...]]
    """Name to its records, by their seeds: one for each training and seed of the attack."""
    settings: str = ""
    """What tells the attack from others of its name, as `settings_apart` has it."""

    @property
    def title(self) -> str:
        """The task, the sample where it is not the first, and the attack."""
        task = f"{self.task} (sample {self.sample})" if self.sample else self.task
        if self.attack is not None:
            return f"{task}, {with_settings(self.attack, self.settings)}"
        return task if is_advglue(self.task) else f"{task}, clean"

    @property
    def metric(self) -> str | None:
        """What its models are compared by; none: no record has marks of it."""
        records = [record for of in self.models.values() for record in of]
        names = CLEAN if self.attack is None else ATTACKED
        return next((name for name in names if any(r.marks.get(name) for r in records)), None)


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
    records = list(records)
    found: dict[tuple[str, str | None, str, str], dict[str, list[RunRecord]]] = {}
    for record, settings in zip(records, settings_apart(records), strict=True):
        key = (record.task, record.attack, settings, data_of(record))
        found.setdefault(key, {}).setdefault(record.model, []).append(record)
    return [
        Group(
            task, attack, _sample(of), {name: _ordered(own) for name, own in of.items()}, settings
        )
        for (task, attack, settings, _), of in found.items()
    ]


def _sample(models: Mapping[str, Sequence[RunRecord]]) -> int | None:
    return next(iter(models.values()))[0].seeds.get("sample")


def _ordered(records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """Return records by their seeds, so that those of two models are paired."""
    return tuple(record for training in trainings(records) for record in training)


def findings(records: Iterable[RunRecord], against: str) -> list[Finding]:
    """Compare every model with `against` wherever both met the same attack on the same examples.

    A record without marks of what its group is compared by is left out. The p-values are corrected
    for all comparisons together (Holm).
    """
    found = []
    for group in grouped(records):
        if (metric := group.metric) is None:
            continue
        known = ((name, _attempts(of, metric)) for name, of in group.models.items())
        marks = {name: attempts for name, attempts in known if attempts}
        for name in marks:
            if name != against and against in marks:
                made = compare_trainings(name, against, marks[name], marks[against])
                found.append(Finding(group, metric, made))
    corrected = holm([finding.comparison.p for finding in found])
    return [
        replace(f, comparison=replace(f.comparison, p=p, corrected_for=len(found)))
        for f, p in zip(found, corrected, strict=True)
    ]


def _attempts(records: Sequence[RunRecord], key: str) -> list[Attempts]:
    """Return the marks of each training that has some, one text for each seed of the attack."""
    marked = [record for record in records if record.marks.get(key)]
    return [[record.marks[key] for record in own] for own in trainings(marked)]


def unmatched(records: Iterable[RunRecord], against: str) -> list[str]:
    """Return a sentence for each model whose examples or attack are not those of `against`."""
    groups = grouped(records)
    of_reference = [group for group in groups if against in group.models]
    return [
        f"{group.title}: {name} was {reason} than {against}, so the two are not compared."
        for group in groups
        if against not in group.models and (reason := _reason(group, of_reference))
        for name in group.models
    ]


def _reason(group: Group, others: Iterable[Group]) -> str:
    """Return what keeps a group apart from others at its place; empty: there are none."""
    place = (group.task, group.attack, group.sample)
    settings = {one.settings for one in others if (one.task, one.attack, one.sample) == place}
    if not settings:
        return ""
    attacked = "attacked with other settings or files"
    return "measured on other examples" if group.settings in settings else attacked


def pooled(records: Sequence[RunRecord], name: str, part: str = "") -> Metric | None:
    """Return a metric over the trainings, as reports have it; see `holdfast.record.pooling`.

    `part`: the group of the metric, such as a level of AdvGLUE.
    """
    if (found := pool(records, name, part)) is not None:
        return found.metric
    metrics = (record.metric(name, part) for record in records)
    return next((m for m in metrics if m is not None and m.value is None), None)
