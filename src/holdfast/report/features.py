"""Features of texts in the plane, by t-SNE (RIFT's Figure 3): one cloud for each class.

The series of a record are called `features`; the group of each is a class, or the name of a map
and a class, as in "before/1" and "after/1".
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from holdfast.record import SERIES, RunRecord, Series
from holdfast.report.content import Block, Cell, Figure, Row, Section, Table
from holdfast.report.numbers import counted, plain, sentence
from holdfast.report.sketch import shown_name, sketch, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FIGURES, MOST_POINTS, MOST_LISTED = 8, 1000, 200
Clouds = dict[str, Series]
"""Class to its points."""


def features(records: Sequence[RunRecord]) -> Section | None:
    """Return a figure for each map of each model."""
    maps: dict[tuple[str, str, str], Clouds] = defaultdict(dict)
    for record in records:
        for series in record.series:
            if series.name == "features":
                name, _, label = series.group.rpartition("/")
                # Two trainings have two planes that do not fit together: the first is shown.
                maps[record.model, record.task, name].setdefault(label, series)
    figures: list[Block] = [
        _figure(model, task, name, clouds)
        for (model, task, name), clouds in list(maps.items())[:MOST_FIGURES]
    ]
    if not figures:
        return None
    lead = (
        f"{sentence(SERIES['features'])} Only neighbourhoods mean something: distances between "
        "far clouds, axes and sizes do not."
    )
    if len(maps) > len(figures):
        lead += f" Drawn are the first {len(figures)} of {len(maps)} maps."
    return Section("features", "Features", lead, tuple(figures))


def _figure(model: str, task: str, name: str, clouds: Clouds) -> Figure:
    title = f"{model}, {task}{f', {name}' if name else ''}: features"
    points = sum(len(cloud.x) for cloud in clouds.values())
    sizes = (f"class {label}: {len(cloud.x)}" for label, cloud in clouds.items())
    description = f"{counted(points, 'text')} as points in the plane. {'; '.join(sizes)}."
    drawing = sketch(title, description, partial(_panel, clouds=clouds))
    return Figure(f"features-{model}-{task}-{name}", drawing, _numbers(title, clouds))


def _panel(axes: "Axes", clouds: Clouds) -> None:
    for index, (label, cloud) in enumerate(clouds.items()):
        style = style_of(index)
        step = -(-len(cloud.x) // MOST_POINTS) or 1
        axes.plot(
            cloud.x[::step],
            cloud.y[::step],
            linestyle="none",
            marker=style.marker,
            markersize=4,
            markeredgewidth=0,
            color=style.color,
            alpha=0.7,
            label=shown_name(f"class {label}" if label else "all"),
        )
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")


def _numbers(title: str, clouds: Clouds) -> Table:
    points = [
        (label, x, y)
        for label, cloud in clouds.items()
        for x, y in zip(cloud.x, cloud.y, strict=False)
    ]
    step = -(-len(points) // MOST_LISTED) or 1
    rows = tuple(
        Row(Cell(label or "all"), (Cell(plain(round(x, 2))), Cell(plain(round(y, 2)))))
        for label, x, y in points[::step]
    )
    notes = (f"Every {step}th point is listed.",) if step > 1 else ()
    return Table(title, (Cell("class"), Cell("first"), Cell("second")), rows, notes)
