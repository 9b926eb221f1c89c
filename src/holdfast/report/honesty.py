"""What a reader must know before reading a number: notes of the records, and numbers that lie."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.record import WARNING, RunRecord
from holdfast.report.cells import Cells
from holdfast.report.columns import full_heading
from holdfast.report.constant import Constant
from holdfast.report.content import Alert
from holdfast.report.numbers import counted, joined
from holdfast.report.scores import ADVGLUE, Column
from holdfast.report.sweeps import without

ACCURACY = "accuracy"


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
