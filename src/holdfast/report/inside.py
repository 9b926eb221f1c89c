"""Inside the models: residuals of the layers, moves of the hidden states, regions of stability."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.record import SERIES, RunRecord
from holdfast.report.content import Block, Cell, Figure, Row, Section, Table
from holdfast.report.line_figure import MOST_LINES, Axis, Line, line_figure, series_lines
from holdfast.report.numbers import sentence
from holdfast.report.sketch import sketch
from holdfast.report.stability_figure import draw_region, stable_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TASKS = 4
DRAWN = (
    *("residual", "moved_attack", "moved_random", "features"),
    *("distance", "loss", "accuracy", "hull_accuracy"),
)
"""Series that have a figure of their own."""
LAYER = Axis("layer", whole=True)


def inside(records: Sequence[RunRecord], hues: Mapping[str, int]) -> Section | None:
    """Return what the records say of layers and hidden states."""
    blocks: list[Block] = [
        *_residuals(records, hues),
        *_moves(records, hues),
        *_others(records, hues),
        *_regions(records),
    ]
    if not blocks:
        return None
    lead = (
        "How well each layer's equation is solved, how far an attack moves the hidden states of "
        "each layer beside random words in as many places, and where the scheme is stable."
    )
    return Section("inside", "Inside the models", lead, tuple(blocks))


def _residuals(records: Sequence[RunRecord], hues: Mapping[str, int]) -> Iterable[Figure]:
    if lines := series_lines(records, hues, "residual"):
        axis = Axis("relative residual", log=True)
        note = f"{sentence(SERIES['residual'])} Lower is better solved."
        yield line_figure("residual", "Residual of each layer", lines, LAYER, axis, note)


def _moves(records: Sequence[RunRecord], hues: Mapping[str, int]) -> Iterable[Figure]:
    """Yield a figure for each task and attack: both moves of a model share a colour."""
    keys = dict.fromkeys(
        (record.task, record.attack)
        for record in records
        if any(series.name == "moved_attack" for series in record.series)
    )
    for task, attack in list(keys)[:MOST_TASKS]:
        some = [record for record in records if (record.task, record.attack) == (task, attack)]
        lines = _pairs(
            series_lines(some, hues, "moved_attack"), series_lines(some, hues, "moved_random")
        )
        title = f"{task} under {attack or 'attack'}: moves of the hidden states"
        axis = Axis("relative move")
        note = "Dashed: random words in as many places. One colour is one model."
        yield line_figure(f"moves-{task}-{attack}", title, lines, LAYER, axis, note)


def _others(records: Sequence[RunRecord], hues: Mapping[str, int]) -> Iterable[Figure]:
    """Yield a figure for each series that is not drawn elsewhere."""
    keys = dict.fromkeys(
        (series.name, series.group)
        for record in records
        for series in record.series
        if series.name not in DRAWN
    )
    for name in dict.fromkeys(name for name, _ in keys):
        groups = [group for known, group in keys if known == name]
        found = [(group, series_lines(records, hues, name, group)) for group in groups]
        alone = len(groups) == 1
        lines = [
            line if alone else replace(line, name=f"{line.name}, {group}", hue=None)
            for group, some in found
            for line in some
        ]
        words = name.replace("_", " ")
        if lines:
            yield line_figure(f"series-{name}", words, lines, Axis("place"), Axis(words))


def _pairs(attacked: Sequence[Line], random: Sequence[Line]) -> list[Line]:
    others = {line.name: line for line in random}
    lines = []
    for line in attacked:
        lines.append(replace(line, name=f"{line.name}, attack", low=(), high=()))
        if (other := others.get(line.name)) is not None:
            name = f"{line.name}, random"
            lines.append(replace(other, name=name, low=(), high=(), second=True))
    return lines[: 2 * MOST_LINES]


@dataclass(frozen=True)
class _Region:
    """Where the theta method is stable; |R(z)| of `holdfast.implicit.stability`, without torch."""

    name: str
    theta: float
    real: NDArray[np.float64]
    imaginary: NDArray[np.float64]
    factor: NDArray[np.float64]

    @property
    def stable(self) -> NDArray[np.bool_]:
        return self.factor < 1


def region(name: str, theta: float, points: int = 121) -> _Region:
    """Return R(z) = (1 + (1 - theta) z) / (1 - theta z) on a grid; infinite at its pole."""
    x, y = np.linspace(-4, 4, points), np.linspace(-3, 3, points)
    z = x[None, :] + 1j * y[:, None]
    below = 1 - theta * z
    safe = np.where(below == 0, 1, below)
    factor = np.where(below == 0, np.inf, np.abs((1 + (1 - theta) * z) / safe))
    return _Region(name, theta, x, y, factor)


def _regions(records: Iterable[RunRecord]) -> Iterable[Figure]:
    """Yield a figure for each scheme that a model was trained with."""
    schemes = dict.fromkeys(_theta(record) for record in records)
    for name, theta in (scheme for scheme in schemes if scheme is not None):
        found = region(name, theta)
        title = f"Where {name} is stable"
        words = (
            f"The complex plane of z = step size times lambda, with the region |R(z)| < 1 hatched. "
            f"{name} (theta = {theta:g}) is {stable_shares(found)}."
        )
        drawing = sketch(title, words, partial(_draw, found=found), 3.2)
        yield Figure(f"region-{theta:g}", drawing, _factors(title, found))


def _draw(axes: "Axes", found: _Region) -> None:
    draw_region(axes, found)
    axes.set_title("")  # it stands above the drawing


def _theta(record: RunRecord) -> tuple[str, float] | None:
    connection = (record.training or {}).get("connection")
    scheme = connection.get("scheme") if isinstance(connection, Mapping) else None
    if not isinstance(scheme, Mapping):
        return None
    if scheme.get("type") == "Theta":
        theta = scheme.get("theta", 0.5)
        return (f"Theta({theta:g})", theta) if isinstance(theta, int | float) else None
    known = {"Explicit": ("Explicit", 0.0), "ImplicitEuler": ("ImplicitEuler", 1.0)}
    return known.get(str(scheme.get("type")))


def _factors(title: str, found: _Region) -> Table:
    """List |R| along the real axis, which is what the propositions speak of."""
    middle = len(found.imaginary) // 2
    picked = range(0, len(found.real), 10)
    rows = tuple(
        Row(Cell(f"{found.real[at]:.2f}"), (Cell(f"{found.factor[middle, at]:.3g}"),))
        for at in picked
    )
    return Table(f"{title}: |R(z)| along the real axis", (Cell("Re z"), Cell("|R(z)|")), rows)
