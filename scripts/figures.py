"""Draw RIFT's figures of docs/results from the records in results/.

    python scripts/figures.py

Each picture carries the checksum of the records it was drawn from; a test compares them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from packing import file_of

from holdfast.data import checksum
from holdfast.record import RunRecord
from holdfast.reproduce.result import Grid
from holdfast.reproduce.rift_figure2 import METHODS, PARTS
from holdfast.reproduce.rift_figure3 import PANELS
from holdfast.reproduce.rift_figure4 import METHODS as TRADED
from results import PAGES, grids, records_of

FOLDER = PAGES / "figures"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Of Okabe and Ito, which most colour-blind people tell apart."""
MARKERS = ("o", "^", "s", "D")
ENCODERS = {"all-MiniLM-L6-v2": "six layers", "e5-small": "twelve layers"}
Point = tuple[float, float, float]
"""A number and the ends of its interval."""


def measured(grid: Grid) -> dict[tuple[str, str], Point]:
    """Return what a table has, by row and column."""
    return {
        (entry.row, entry.column): (entry.measured.value, entry.measured.low, entry.measured.high)
        for entry in grid.entries
        if entry.measured is not None
        and entry.measured.low is not None
        and entry.measured.high is not None
    }


def arms(points: list[Point]) -> list[list[float]]:
    """Return how far the intervals reach below and above their numbers."""
    return [
        [value - low for value, low, _ in points],
        [high - value for value, _, high in points],
    ]


# -- the three figures -------------------------------------------------------------------------


def distances(figure: Figure) -> None:
    """Figure 2: how far the weights move, over the training and over beta."""
    rows = figure.subplots(len(ENCODERS), 2, sharey="row")
    for (left, right), (model, layers) in zip(rows, ENCODERS.items(), strict=True):
        over_training, over_beta = map(measured, grids("rift-figure2", "rift-imdb", model))
        for number, row in enumerate(METHODS):
            points = [over_training[row, part] for part in PARTS]
            shifted = [100 * along + number for along in PARTS.values()]  # intervals side by side
            draw_line(left, shifted, points, number, row)
        betas = [float(row.removeprefix("beta=")) for row, _ in over_beta]
        draw_line(right, betas, list(over_beta.values()), METHODS.index("Adv-Base"), "Adv-Base")
        left.set(ylabel=f"{model},\n{layers}", ylim=(0, None))
        for axes in (left, right):
            axes.legend(frameon=False, loc="lower right")
    for axes, along in zip(rows[-1], ("training, %", "beta"), strict=True):
        axes.set(xlabel=along)
    figure.supylabel("relative L2 distance to the start")


def draw_line(axes: Axes, along: list[float], points: list[Point], number: int, label: str) -> None:
    """Draw one line with its intervals."""
    axes.errorbar(
        along,
        [value for value, _, _ in points],
        arms(points),
        color=COLOURS[number],
        marker=MARKERS[number],
        markersize=4,
        elinewidth=0.8,
        capsize=2,
        label=label,
    )


def maps(figure: Figure) -> None:
    """Figure 3: the features of 500 reviews in two dimensions, seed 0, and the agreement."""
    rows = figure.subplots(len(ENCODERS), len(PANELS))
    for row, (model, layers) in zip(rows, ENCODERS.items(), strict=True):
        found = {
            record.model: record
            for record in records_of("rift-features", model)
            if record.task == "features" and record.seed == 0
        }
        for axes, (panel, name) in zip(row, PANELS.items(), strict=True):
            cloud(axes, found[name])
            axes.set(title=panel, xticks=[], yticks=[])
        row[0].set_ylabel(f"{model},\n{layers}")


def cloud(axes: Axes, record: RunRecord) -> None:
    """Draw the texts of each class."""
    for number, series in enumerate(record.series):
        axes.scatter(
            series.x,
            series.y,
            s=6,
            color=COLOURS[number],
            marker=MARKERS[number],
            linewidths=0,
            rasterized=True,
        )
    (agreement,) = record.metrics
    axes.set_xlabel(f"same class nearest: {100 * agreement.value:.1f} %")


def trades(figure: Figure) -> None:
    """Figure 4: accuracy under PWWS against clean accuracy, beta along each line."""
    both = figure.subplots(1, len(ENCODERS), sharey=True)
    for axes, (model, layers) in zip(both, ENCODERS.items(), strict=True):
        (grid,) = grids("rift-figure4", "rift-imdb", model)
        found = measured(grid)
        for number, method in enumerate(TRADED):
            draw_trade(axes, found, method, number)
        axes.set(xlabel="clean accuracy, %", title=f"{model}, {layers}", ylim=(0, 100))
        axes.legend(frameon=False, ncols=2, loc="upper center")
    both[0].set(ylabel="accuracy under PWWS, %")


def draw_trade(axes: Axes, found: dict[tuple[str, str], Point], method: str, number: int) -> None:
    """Draw one method's line, with its betas at the points."""
    rows = [row for row, column in found if row.startswith(method) and column == "clean"]
    clean, robust = ([found[row, column] for row in rows] for column in ("clean", "robust"))
    draw_line(axes, [value for value, _, _ in clean], robust, number, method)
    for row, (x, *_), (y, *_) in zip(rows, clean, robust, strict=True):
        beta = row.partition("beta=")[2]
        axes.annotate(beta, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)


@dataclass(frozen=True)
class Picture:
    """One figure: what draws it, and the records it shows."""

    draw: Callable[[Figure], None]
    inches: tuple[float, float]
    study: str

    @property
    def drawn_from(self) -> str:
        """Checksums of its records, which it carries."""
        return " ".join(checksum(file_of(self.study, model)) for model in ENCODERS)


FIGURES = {
    "rift-figure2": Picture(distances, (7, 5), "rift-imdb"),
    "rift-figure3": Picture(maps, (8, 4.4), "rift-features"),
    "rift-figure4": Picture(trades, (9, 4), "rift-imdb"),
}


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    mpl.rcParams.update(
        {"svg.hashsalt": "holdfast", "font.size": 8, "axes.spines.top": False}
        | {"axes.spines.right": False}
    )
    for name, picture in FIGURES.items():
        figure = Figure(figsize=picture.inches, dpi=160, layout="constrained")
        picture.draw(figure)
        file = FOLDER / f"{name}.svg"
        figure.savefig(file, metadata={"Date": None, "Description": picture.drawn_from})
        print(file, file.stat().st_size)


if __name__ == "__main__":
    main()
