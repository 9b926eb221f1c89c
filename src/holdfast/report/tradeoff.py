"""Clean against robust: what each model pays for what it gains (RIFT's Figure 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from holdfast.report.cells import Cells
from holdfast.report.columns import heading, task_columns
from holdfast.report.content import Block, Cell, Figure, Row, Section, Table
from holdfast.report.numbers import interval, joined, percent
from holdfast.report.scores import Column, Score
from holdfast.report.sketch import FAINT, shown_name, sketch, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FIGURES = 6
MOST_NAMED = 8  # points with a name
Hues = Mapping[str, int]
"""Model to the number of its colour."""


@dataclass(frozen=True)
class Point:
    """A model: its accuracy on the texts as they are, and on those that were made to fool it."""

    model: str
    clean: Score
    robust: Score


@dataclass(frozen=True)
class Plane:
    """What one figure shows."""

    points: Sequence[Point]
    named: Sequence[Point]
    """Those of them that have a colour and a name."""
    curves: Sequence[Sequence[str]]
    """Models that a line joins: trainings that differ in one number, in its order."""
    label: str
    hues: Hues


def tradeoffs(
    cells: Cells, tasks: Sequence[str], curves: Sequence[Sequence[str]], hues: Hues
) -> Section | None:
    """Return one figure for each attack on each task; `curves` are models that a line joins."""
    pairs = [pair for task in tasks for pair in _pairs(cells, task)]
    figures: list[Block] = []
    for clean, robust in pairs[:MOST_FIGURES]:
        before, after = cells.scores(clean), cells.scores(robust)
        points = [Point(m, before[m], after[m]) for m in before if m in after]
        if len(points) > 1:
            figures.append(_figure(points, clean, robust, curves, hues))
    if not figures:
        return None
    lead = (
        "Each model once: how often it is right on the texts as they are, and how often it still "
        "is on texts that were made to fool it. Up and to the right is better; below the dotted "
        "line, always answering the majority class does better. Grey lines join trainings that "
        "differ in one setting."
    )
    if len(pairs) > MOST_FIGURES:
        lead += f" Drawn are the first {MOST_FIGURES} of {len(pairs)} pairs."
    return Section("trade-off", "Clean against robust", lead, tuple(figures))


def _pairs(cells: Cells, task: str) -> list[tuple[Column, Column]]:
    columns = task_columns(cells, task)
    clean = [c for c in columns if c.task == task and c.metric == "accuracy"]
    others = [c for c in columns if c not in clean and c.metric not in ("f1", "glue")]
    return [(clean[0], c) for c in others if c.metric != "transfer_accuracy"] if clean else []


def front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other beats in both."""
    return [
        one
        for one in points
        if not any(
            other.clean.value >= one.clean.value
            and other.robust.value >= one.robust.value
            and (other.clean.value, other.robust.value) != (one.clean.value, one.robust.value)
            for other in points
        )
    ]


def _figure(
    points: Sequence[Point],
    clean: Column,
    robust: Column,
    curves: Sequence[Sequence[str]],
    hues: Hues,
) -> Figure:
    label = heading(robust)
    title = f"{clean.task}: clean against {label.removeprefix('under ')}"
    best = front(points)
    named = list(points) if len(points) <= MOST_NAMED else _named(points, best)
    numbers = "; ".join(
        f"{p.model}: {percent(p.clean.value)} and {percent(p.robust.value)}" for p in named
    )
    description = (
        f"Accuracy on the texts as they are against accuracy {label}, one point for each of "
        f"{len(points)} models. No other model beats {joined([p.model for p in best])} in both. "
        f"{numbers}."
    )
    panel = partial(_panel, plane=Plane(points, named, curves, label, hues))
    note = ""
    if len(named) < len(points):
        note = f"Named are the first model and those that no other beats in both, of {len(points)}."
    slug = f"tradeoff-{clean.task}-{robust.task}-{robust.attack or ''}-{robust.metric}"
    return Figure(slug, sketch(title, description, panel), _numbers(title, points, label), note)


def _named(points: Sequence[Point], best: Sequence[Point]) -> list[Point]:
    others = [point for point in best if point is not points[0]]
    return [points[0], *others][:MOST_NAMED]


def _panel(axes: "Axes", plane: Plane) -> None:
    for point in plane.points:
        if point not in plane.named:
            _draw(axes, point, None)
    for index, point in enumerate(plane.named):
        # All named: the colours of the other figures. Else they must differ among themselves.
        whole = len(plane.named) == len(plane.points)
        _draw(axes, point, plane.hues.get(point.model, index) if whole else index)
    where = {p.model: (100 * p.clean.value, 100 * p.robust.value) for p in plane.points}
    for curve in plane.curves:
        known = [where[model] for model in curve if model in where]
        if len(known) > 1:
            across, up = zip(*known, strict=True)
            axes.plot(across, up, color=FAINT, linewidth=1, zorder=1)
    axes.margins(0.1)
    shares = [p.robust.majority for p in plane.points if p.robust.majority is not None]
    if shares:
        axes.axhline(100 * shares[0], color=FAINT, linestyle=":", linewidth=1.4)
    axes.set_xlabel("clean accuracy, %")
    axes.set_ylabel(f"{plane.label}, %")
    axes.locator_params(nbins=6)


def _draw(axes: "Axes", point: Point, index: int | None) -> None:
    x, y = 100 * point.clean.value, 100 * point.robust.value
    style = style_of(index or 0)
    color, alpha = (FAINT, 0.5) if index is None else (style.color, 1)
    across, up = _ends(point.clean), _ends(point.robust)
    for ends in ((across, (y, y)), ((x, x), up)):
        axes.plot(*ends, color=color, linewidth=0.9, alpha=alpha)
    axes.plot(
        x,
        y,
        linestyle="none",
        marker="o" if index is None else style.marker,
        color=color,
        markersize=3 if index is None else 6.5,
        alpha=alpha,
        label=None if index is None else shown_name(point.model),
    )


def _ends(score: Score) -> tuple[float, float]:
    """Return the interval in percent; the number alone where there is none."""
    low, high = score.low, score.high
    return 100 * (score.value if low is None else low), 100 * (
        score.value if high is None else high
    )


def _numbers(title: str, points: Sequence[Point], label: str) -> Table:
    rows = tuple(
        Row(
            Cell(point.model),
            tuple(
                Cell(percent(s.value), detail=interval(s.low, s.high))
                for s in (point.clean, point.robust)
            ),
        )
        for point in points
    )
    head = (Cell("model"), Cell("clean"), Cell(label))
    return Table(f"{title}, in percent", head, rows)
