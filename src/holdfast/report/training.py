"""Training: the distance from the pre-trained weights (RIFT's Figure 2), and learning curves."""

from collections.abc import Mapping, Sequence

from holdfast.record import METRICS, RunRecord
from holdfast.report.content import Block, Cell, Figure, Row, Section, Table
from holdfast.report.line_figure import Axis, line_figure, series_lines
from holdfast.report.numbers import counted, metric_value, plain, sentence

STEPS = Axis("step")
MOST_ROWS = 200
CURVES = {
    ("loss", "train"): ("Loss on the training examples", Axis("loss")),
    ("loss", "validation"): ("Loss on the validation examples", Axis("loss")),
    ("accuracy", "validation"): ("Validation accuracy", Axis("accuracy", percent=True)),
    ("hull_accuracy", "validation"): (
        "Validation accuracy in the hull",
        Axis("accuracy in the hull", percent=True),
    ),
}


def trainings(records: Sequence[RunRecord], hues: Mapping[str, int]) -> Section | None:
    """Return what training records tell."""
    blocks: list[Block] = [*_distance(records, hues), *_curves(records, hues)]
    if runs := [record for record in records if record.kind == "training"]:
        blocks.append(_runs(runs))
    if not blocks:
        return None
    lead = (
        "How far fine-tuning carries the weights away from the pre-trained ones, and how it went. "
        "Lines are means over the trainings of a model, bands reach from the lowest to the highest."
    )
    return Section("training", "Training", lead, tuple(blocks))


def _distance(records: Sequence[RunRecord], hues: Mapping[str, int]) -> list[Figure]:
    lines = series_lines(records, hues, "distance")
    if not lines:
        return []
    title = "Distance from the pre-trained weights"
    axis = Axis("relative distance")
    note = sentence(METRICS["distance"])
    return [line_figure("distance", title, lines, STEPS, axis, note)]


def _curves(records: Sequence[RunRecord], hues: Mapping[str, int]) -> list[Figure]:
    found = (
        (f"curve-{name}-{group}", title, series_lines(records, hues, name, group), axis)
        for (name, group), (title, axis) in CURVES.items()
    )
    return [
        line_figure(slug, title, lines, STEPS, axis) for slug, title, lines, axis in found if lines
    ]


def _runs(records: Sequence[RunRecord]) -> Table:
    """List the trainings with what each reached."""
    names = dict.fromkeys((m.name, m.group) for record in records for m in record.metrics)
    head = [f"{group} {name}".strip().replace("_", " ") for name, group in names]
    rows = tuple(
        Row(
            Cell(record.model, detail=_what(record)),
            (*(_metric(record, *name) for name in names), Cell(plain(round(record.seconds)))),
        )
        for record in records[:MOST_ROWS]
    )
    left_out = len(records) - len(rows)
    notes = (f"{left_out} more trainings are in records.csv.",) if left_out > 0 else ()
    columns = (Cell("training"), *map(Cell, head), Cell("seconds"))
    caption = f"{counted(len(records), 'training')}; shares in percent"
    return Table(caption, columns, rows, notes, title="Trainings")


def _what(record: RunRecord) -> str:
    seed = "" if record.seed is None else f", seed {record.seed}"
    return f"{record.task}{seed}"


def _metric(record: RunRecord, name: str, group: str) -> Cell:
    metric = record.metric(name, group)
    if metric is None or metric.value is None:
        return Cell("\N{EM DASH}")
    return Cell(metric_value(name, metric.value))
