"""What a reader must know before reading a number: notes of the records, and numbers that lie."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from holdfast.record import WARNING, RunRecord
from holdfast.record.attacks import settings_in, without_settings
from holdfast.record.pooling import data_of, training_of
from holdfast.report.alike import skeleton, told_once
from holdfast.report.cells import Cells
from holdfast.report.columns import full_heading
from holdfast.report.constant import Constant
from holdfast.report.content import Alert
from holdfast.report.numbers import counted, joined
from holdfast.report.places import places
from holdfast.report.scores import ADVGLUE, Column
from holdfast.report.sweeps import without

ACCURACY = "accuracy"
_VARYING = ("latency_ms", "memory_mib", "queries")
"""Of one thing another number each time; who proves that an answer holds does not ask for it."""


def alerts(
    records: Sequence[RunRecord],
    cells: Cells,
    constant: Mapping[str, Constant],
    columns: Sequence[Column],
) -> tuple[Alert, ...]:
    """Return everything to be said first, the gravest before the rest."""
    return (
        *_constant(constant),
        *_no_better(cells, columns, constant),
        *_notes(records),
        *_several_configurations(records),
        *_told_twice(records),
        *_several_attacks(records),
        *_different_examples(cells, columns),
        *_not_through_gradients(cells),
        *_one_training(cells),
        *_mixed(records),
    )


def _constant(constant: Mapping[str, Constant]) -> Iterator[Alert]:
    for model, known in constant.items():
        verb = "gives " if known.proven else ""
        text = (
            f"{model} {verb}{known.words}: no attack can lower the accuracy of a constant, and it "
            "must not be read as robust."
        )
        yield Alert("warning", text)


def _no_better(
    cells: Cells, columns: Sequence[Column], constant: Mapping[str, Constant]
) -> Iterator[Alert]:
    found: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        for model, score in cells.scores(column).items():
            if score.no_better_than_majority and model not in constant:
                found[model].append(full_heading(column))
    told = [f"{model} ({counted(len(names), 'column')})" for model, names in found.items()]
    if found:
        who = joined(list(found)) if len(found) == 1 else f"{len(found)} models"
        score_no = "scores" if len(found) == 1 else "score"
        text = (
            f"{who} somewhere {score_no} no more than always answering the majority class, "
            "marked with ▼."
        )
        yield Alert("warning", text, joined(told, 12))


def _notes(records: Iterable[RunRecord]) -> Iterator[Alert]:
    told: dict[str, list[tuple[str, RunRecord]]] = defaultdict(list)
    for record in records:
        for note in record.notes:
            told[skeleton(note)].append((note, record))
    for _, of in sorted(told.items(), key=lambda item: not item[0].startswith(WARNING)):
        note = told_once(text for text, _ in of)
        places_told = places(record for _, record in of)
        if note.startswith(WARNING):
            yield Alert("warning", note.removeprefix(WARNING), places_told)
        else:
            yield Alert("record", note, places_told)


def _several_configurations(records: Iterable[RunRecord]) -> Iterator[Alert]:
    """Say where one name stands for trainings that differ in more than the seed."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in records:
        if record.kind == "evaluation" and record.training is not None:
            found[record.model, record.task].add(without(record.training))
    names = list(dict.fromkeys(model for (model, _), known in found.items() if len(known) > 1))
    if names:
        text = (
            "One name stands for several configurations; its numbers are means over all of them. "
            "Give each configuration a name of its own."
        )
        yield Alert("warning", text, joined(names))


def _told_twice(records: Iterable[RunRecord]) -> Iterator[Alert]:
    """Say where two records of the same thing have other numbers: one of them is shown."""
    known: dict[tuple[Any, ...], RunRecord] = {}
    twice = []
    for record in records:
        if record.kind == "evaluation":
            suite = (data_of(record), *sorted(record.seeds.items()))
            about = (record.model, record.task, record.attack, training_of(record), suite)
            if _disagree(known.setdefault(about, record), record):
                twice.append(record)
    if twice:
        text = (
            "Records of the same checkpoint, examples and attack have other numbers, and the last "
            "of them is shown. Take away those that are wrong."
        )
        yield Alert("warning", text, places(twice))


def _disagree(one: RunRecord, other: RunRecord) -> bool:
    """Whether two records give one thing two values; what only one of them tells is none."""
    told, retold = _numbers(one), _numbers(other)
    return any(retold.get(name, value) != value for name, value in told.items())


def _numbers(record: RunRecord) -> dict[tuple[str, str], float | str | None]:
    metrics = {(m.name, m.group): m.value for m in record.metrics if m.name not in _VARYING}
    return {**metrics, **{(name, "marks"): marks for name, marks in record.marks.items()}}


def _several_attacks(records: Iterable[RunRecord]) -> Iterator[Alert]:
    """Say where one name stands for attacks with other settings: each has a column of its own."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for record in records:
        name, settings = without_settings(record.attack), settings_in(record.attack)
        if name and settings:
            found[name, record.task][settings] = None
    if found:
        text = (
            "One name stands for several attacks: the attack had other settings or files. They are "
            "told apart by the start of its checksum, and not compared or taken together."
        )
        told = [f"{name} on {task}: {joined(list(of))}" for (name, task), of in found.items()]
        yield Alert("warning", text, "; ".join(told))


def _different_examples(cells: Cells, columns: Sequence[Column]) -> Iterator[Alert]:
    names = []
    for column in columns:
        data = {score.data for score in cells.scores(column).values()}
        if len(data) > 1:
            names.append(full_heading(column))
    if names:
        text = (
            "Not all models of a column were measured on the same examples; those that were not "
            "are not compared."
        )
        yield Alert("warning", text, joined(names))


def _not_through_gradients(cells: Cells) -> Iterator[Alert]:
    """Say which models only attacks that ask were tried on: gradients may find what those miss."""

    def measured(metric: str) -> dict[tuple[str, str], None]:
        known = ((m, c.task) for m, c in cells.found if c.metric == metric and cells.score(m, c))
        return dict.fromkeys(known)

    white = measured("white_box_accuracy")
    names = [
        f"{m} ({task})" for m, task in measured("accuracy_under_attack") if (m, task) not in white
    ]
    if names:
        text = (
            "Attacked, but not through its gradients: run holdfast evaluate with the adaptive "
            "check before calling it robust."
        )
        yield Alert("note", text, joined(names))


def _one_training(cells: Cells) -> Iterator[Alert]:
    runs: dict[str, int] = defaultdict(int)
    for model, column in cells.found:
        score = cells.score(model, column) if column.metric == ACCURACY else None
        runs[model] = max(runs[model], score.runs if score else 0)
    single = [model for model, count in runs.items() if count == 1]
    if single:
        text = (
            "One training only: no spread over seeds can be given, and the intervals tell of the "
            "examples alone. Another seed may differ by more."
        )
        yield Alert("note", text, joined(single))


def _mixed(records: Sequence[RunRecord]) -> Iterator[Alert]:
    versions = sorted({str(record.environment.get("holdfast", "unknown")) for record in records})
    if len(versions) > 1:
        told = f"The records were made with {len(versions)} versions of Holdfast: "
        yield Alert("note", told + joined(versions) + ".")
    tasks = list(dict.fromkeys(record.task for record in records))
    plain = [task for task in tasks if not task.startswith(ADVGLUE)]
    if len(plain) > 1:
        text = f"Records of {len(plain)} tasks ({joined(plain)}): nothing is compared across tasks."
        yield Alert("note", text)
