"""Lines over an axis, with the numbers behind them: residuals, moves, curves, sweeps."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from holdfast.record import RunRecord
from holdfast.report.content import Cell, Figure, Row, Table
from holdfast.report.numbers import percent, plain
from holdfast.report.sketch import shown_name, sketch, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 8  # in one drawing; the table behind it has more
MOST_LISTED = 24  # lines of which the numbers are listed
MOST_POINTS = 80  # of a line; of longer ones every second, third, ... is kept


@dataclass(frozen=True)
class Line:
    """One line: its name and its points."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower ends of the points' intervals, if they have any."""
    high: tuple[float, ...] = ()
    hue: int | None = None
    """Number of its colour, marker and dashes; none: its place. A model has the same everywhere."""
    second: bool = False
    """Whether it is the second line of its colour: dashed, and not in the legend."""


@dataclass(frozen=True)
class Axis:
    """What an axis is called, and how it is divided."""

    name: str
    log: bool = False
    percent: bool = False
    """Whether shares are shown in percent."""
    ticks: tuple[str, ...] = ()
    """Names of the places 0, 1, 2, ...; none: numbers."""
    whole: bool = False
    """Whether only whole numbers mean something."""

    def shown(self, value: float) -> str:
        """Return a value as it stands in the table of numbers."""
        if self.ticks:
            return self.ticks[int(value)]
        return percent(value) if self.percent else plain(value)


def series_lines(
    records: Iterable[RunRecord], hues: Mapping[str, int], name: str, group: str = ""
) -> list[Line]:
    """Return a line for each model: the mean over its trainings, between the extremes of them."""
    found: dict[str, list[dict[float, float]]] = defaultdict(list)
    for record in records:
        for series in record.series:
            if (series.name, series.group) == (name, group) and series.x:
                found[record.model].append(dict(zip(series.x, series.y, strict=False)))
    return [
        replace(line, hue=hues.get(model))
        for model, runs in found.items()
        for line in _mean_lines(model, runs)
    ]


def _mean_lines(model: str, runs: Sequence[dict[float, float]]) -> list[Line]:
    shared = sorted(set.intersection(*(set(run) for run in runs)))
    if not shared:  # trainings of other lengths, logged at other steps
        return [
            thinned(Line(f"{model}, run {number}", tuple(run), tuple(run.values())))
            for number, run in enumerate(runs, 1)
        ]
    points = [[run[x] for run in runs] for x in shared]
    low, high = (tuple(map(min, points)), tuple(map(max, points))) if len(runs) > 1 else ((), ())
    return [thinned(Line(model, tuple(shared), tuple(map(fmean, points)), low, high))]


def thinned(line: Line) -> Line:
    """Return a line of no more than `MOST_POINTS` points, its last among them."""
    step = -(-len(line.x) // MOST_POINTS)
    if step <= 1:
        return line
    keep = sorted({*range(0, len(line.x), step), len(line.x) - 1})
    parts = (
        [part[i] for i in keep] if part else [] for part in (line.x, line.y, line.low, line.high)
    )
    x, y, low, high = (tuple(part) for part in parts)
    return replace(line, x=x, y=y, low=low, high=high)


def line_figure(
    name: str, title: str, lines: Sequence[Line], x: Axis, y: Axis, note: str = ""
) -> Figure:
    """Draw lines, and list their numbers."""
    drawn = lines[:MOST_LINES]
    ends = (
        f"{line.name}: {y.shown(line.y[0])} at {x.shown(line.x[0])}, {y.shown(line.y[-1])} at "
        f"{x.shown(line.x[-1])}"
        for line in drawn
    )
    description = f"{y.name} over {x.name}, one line each. {'; '.join(ends)}."
    if len(drawn) < len(lines):
        note = f"{note} Drawn are the first {len(drawn)} of {len(lines)} lines.".strip()
    panel = partial(_panel, lines=drawn, x=x, y=y)
    return Figure(name, sketch(title, description, panel), _numbers(title, lines, x, y), note)


def _panel(axes: "Axes", lines: Sequence[Line], x: Axis, y: Axis) -> None:
    factor = 100 if y.percent else 1
    paired = any(line.second for line in lines)
    for index, line in enumerate(lines):
        style = style_of(index if line.hue is None else line.hue)
        dashes = "--" if line.second else "-" if paired else style.linestyle
        look: dict[str, Any] = {"color": style.color, "linestyle": dashes}
        if len(line.x) <= 30:
            look["marker"] = style.marker
        label = None if line.second else shown_name(line.name)
        axes.plot(line.x, [factor * v for v in line.y], label=label, **look)
        if line.low:
            ends = [[factor * v for v in end] for end in (line.low, line.high)]
            axes.fill_between(line.x, ends[0], ends[1], color=style.color, alpha=0.15, linewidth=0)
    _axes(axes, x, y, positive=all(value > 0 for line in lines for value in line.y))


def _axes(axes: "Axes", x: Axis, y: Axis, *, positive: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(x.name)
    axes.set_ylabel(f"{y.name}, %" if y.percent else y.name)
    if y.log and positive:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(_few)
    else:
        axes.locator_params(axis="y", nbins=6)
    if x.ticks:
        axes.set_xticks(range(len(x.ticks)), [shown_name(tick) for tick in x.ticks])
    elif x.whole:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    else:
        axes.locator_params(axis="x", nbins=6)


def _few(value: float, _: float) -> str:
    """Name the minor ticks 2 and 5 of a logarithmic axis."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def _numbers(title: str, lines: Sequence[Line], x: Axis, y: Axis) -> Table:
    listed = lines[:MOST_LISTED]
    places = sorted({place for line in listed for place in line.x})
    known = [dict(zip(line.x, range(len(line.x)), strict=True)) for line in listed]
    rows = tuple(
        Row(
            Cell(x.shown(place)),
            tuple(_cell(line, at.get(place), y) for line, at in zip(listed, known, strict=True)),
        )
        for place in places
    )
    left_out = len(lines) - len(listed)
    notes = (f"{left_out} more lines are in the records.",) if left_out else ()
    head = (Cell(x.name), *(Cell(line.name) for line in listed))
    unit = ", in percent" if y.percent else ""
    return Table(f"{title}: {y.name}{unit}", head, rows, notes)


def _cell(line: Line, at: int | None, y: Axis) -> Cell:
    if at is None:
        return Cell("")
    spread = f"{y.shown(line.low[at])} to {y.shown(line.high[at])}" if line.low else ""
    return Cell(y.shown(line.y[at]), detail=spread)
