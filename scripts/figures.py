"""Draw RIFT's figures of docs/results from the records in results/.

    python scripts/figures.py

Each picture carries the checksum of the records it was drawn from; a test compares them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.data import checksum
from holdfast.record import RunRecord
from holdfast.reproduce.result import Grid
from holdfast.reproduce.rift_figure2 import METHODS, PARTS
from holdfast.reproduce.rift_figure3 import PANELS
from holdfast.reproduce.rift_figure4 import METHODS as TRADED
from results import PAGES, file_of, grids, records_of

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
    over_training, over_beta = grids("rift-figure2", "rift-imdb", "all-MiniLM-L6-v2")
    left, right = figure.subplots(1, 2, sharey=True)
    found = measured(over_training)
    for number, row in enumerate(METHODS):
        points = [found[row, part] for part in PARTS]
        shifted = [100 * along + number for along in PARTS.values()]  # intervals side by side
        draw_line(left, shifted, points, number, row)
    left.set(xlabel="training, %", ylabel="relative L2 distance to the start", ylim=(0, None))
    left.legend(frameon=False, loc="lower right")
    points = list(measured(over_beta).values())
    betas = [float(row.removeprefix("beta=")) for row, _ in measured(over_beta)]
    draw_line(right, betas, points, METHODS.index("Adv-Base"), "Adv-Base")
    right.set(xlabel="beta")
    right.legend(frameon=False, loc="lower right")


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
    (grid,) = grids("rift-figure4", "rift-imdb", "all-MiniLM-L6-v2")
    found, axes = measured(grid), figure.subplots()
    for number, method in enumerate(TRADED):
        rows = [row for row, column in found if row.startswith(method) and column == "clean"]
        clean, robust = ([found[row, column] for row in rows] for column in ("clean", "robust"))
        draw_line(axes, [value for value, _, _ in clean], robust, number, method)
        for row, (x, *_), (y, *_) in zip(rows, clean, robust, strict=True):
            beta = row.partition("beta=")[2]
            axes.annotate(beta, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.set(xlabel="clean accuracy, %", ylabel="accuracy under PWWS, %", ylim=(0, 100))
    axes.legend(frameon=False, ncols=len(TRADED), loc="upper center")


@dataclass(frozen=True)
class Picture:
    """One figure: what draws it, and the records it shows."""

    draw: Callable[[Figure], None]
    inches: tuple[float, float]
    study: str
    models: tuple[str, ...]

    @property
    def drawn_from(self) -> str:
        """Checksums of its records, which it carries."""
        return " ".join(checksum(file_of(self.study, model)) for model in self.models)


FIGURES = {
    "rift-figure2": Picture(distances, (7, 3), "rift-imdb", ("all-MiniLM-L6-v2",)),
    "rift-figure3": Picture(maps, (8, 4.4), "rift-features", tuple(ENCODERS)),
    "rift-figure4": Picture(trades, (7, 4), "rift-imdb", ("all-MiniLM-L6-v2",)),
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
