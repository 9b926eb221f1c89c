"""What a reader must know before reading a number: notes of the records, and numbers that lie."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.record import WARNING, RunRecord
from holdfast.report.cells import Cells
from holdfast.report.columns import full_heading
from holdfast.report.content import Alert
from holdfast.report.numbers import counted, joined
from holdfast.report.scores import ADVGLUE, Column, Measurement
from holdfast.report.sweeps import without

FEWEST = 20  # examples from which on the same answer to all of them is no accident
ACCURACY = "accuracy"


def constant_models(cells: Cells, one_answer: Iterable[RunRecord]) -> dict[str, str]:
    """Return the models that answer one class whatever the text, with words to say so.

    `one_answer` are the records whose outcomes all have the same prediction. A clean accuracy
    that is exactly the share of the majority class tells the same.
    """
    seen = {id(record) for record in one_answer}
    trainings: dict[str, set[object]] = defaultdict(set)
    caught: dict[str, set[object]] = defaultdict(set)
    for (model, column), measurements in cells.found.items():
        if column.metric == ACCURACY and not column.group and ADVGLUE not in column.task:
            trainings[model] |= {one.run for one in measurements}
            caught[model] |= {m.run for m in measurements if id(m.record) in seen or _exact(m)}
    return {
        model: "one answer to everything"
        if runs == trainings[model]
        else f"one answer to everything in {len(runs)} of {len(trainings[model])} trainings"
        for model, runs in caught.items()
        if runs
    }


def _exact(measurement: Measurement) -> bool:
    value, majority = measurement.metric.value, measurement.metric.majority
    enough = (measurement.metric.total or 0) >= FEWEST
    return enough and value is not None and majority is not None and abs(value - majority) < 1e-9


def alerts(
    records: Sequence[RunRecord],
    cells: Cells,
    constant: Mapping[str, str],
    columns: Sequence[Column],
) -> tuple[Alert, ...]:
    """Return everything to be said first, the gravest before the rest."""
    return (
        *_constant(constant),
        *_below(cells, columns, constant),
        *_notes(records),
        *_several_configurations(records),
        *_different_examples(cells, columns),
        *_one_training(cells),
        *_mixed(records),
    )


def _constant(constant: Mapping[str, str]) -> Iterator[Alert]:
    for model, words in constant.items():
        text = (
            f"{model} gives {words}: its accuracy is that of a constant, no attack can lower it, "
            "and it must not be read as robust."
        )
        yield Alert("warning", text)


def _below(cells: Cells, columns: Sequence[Column], constant: Mapping[str, str]) -> Iterator[Alert]:
    found: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        for model, score in cells.scores(column).items():
            if score.below_majority and model not in constant:
                found[model].append(full_heading(column))
    told = [f"{model} ({counted(len(names), 'column')})" for model, names in found.items()]
    if found:
        who = joined(list(found)) if len(found) == 1 else f"{len(found)} models"
        less = "scores less" if len(found) == 1 else "score less"
        text = f"{who} somewhere {less} than always answering the majority class, marked with ▼."
        yield Alert("warning", text, joined(told, 12))


def _notes(records: Iterable[RunRecord]) -> Iterator[Alert]:
    told: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for note in record.notes:
            told[note].append(where(record))
    for note, places in sorted(told.items(), key=lambda item: not item[0].startswith(WARNING)):
        places_told = joined(list(dict.fromkeys(places)))
        if note.startswith(WARNING):
            yield Alert("warning", note.removeprefix(WARNING), places_told)
        else:
            yield Alert("record", note, places_told)


def where(record: RunRecord) -> str:
    """Return which record is meant, in a few words."""
    seed = "" if record.seed is None else f", seed {record.seed}"
    under = f" under {record.attack}" if record.attack else ""
    return f"{record.model}{seed}: {record.task}{under}"


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
