"""A picture: the same drawing as SVG and PNG, with a description in words for who cannot see it.

Drawn with matplotlib's objects, never with pyplot, which keeps every figure of a process alive.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LineStyle:
    """How one series is drawn: colour, dashes and marker differ, so no colour is needed."""

    color: str
    linestyle: str
    marker: str
    markersize: float = 4.0


# Colours of Okabe & Ito (2008), told apart with every common form of colour blindness.
LINE_STYLES = (
    LineStyle("#0072B2", "-", "o"),
    LineStyle("#D55E00", "--", "s"),
    LineStyle("#009E73", "-.", "^"),
    LineStyle("#CC79A7", ":", "D"),
    LineStyle("#56B4E9", "-", "v"),
    LineStyle("#E69F00", "--", "P"),
)


def line_style(index: int) -> LineStyle:
    """Return the style of the series at `index`; after the last they begin again."""
    return LINE_STYLES[index % len(LINE_STYLES)]


@dataclass(frozen=True)
class Picture:
    """A drawn figure; `description` is its text alternative, and is inside the SVG as well."""

    title: str
    description: str
    svg: str
    png: bytes

    def save(self, stem: Path) -> tuple[Path, Path]:
        """Write `stem`.svg and `stem`.png, and return their paths."""
        svg, png = stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")
        svg.parent.mkdir(parents=True, exist_ok=True)
        svg.write_text(self.svg, encoding="utf-8")
        png.write_bytes(self.png)
        return svg, png


def draw(
    title: str,
    description: str,
    size: tuple[float, float],
    panels: Sequence[Callable[["Axes"], None]],
) -> Picture:
    """Draw one row of panels under a title; each panel is a function that fills its axes."""
    with _look():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(title)
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, axes in zip(panels, row, strict=True):
            panel(axes)
        return Picture(title, description, _svg(figure, title, description), _png(figure))


@contextmanager
def _look() -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "legend.frameon": False,
        "hatch.linewidth": 0.6,
        # Without a fixed salt and date the same data gives another file each time.
        "svg.hashsalt": "holdfast",
    }
    with matplotlib.rc_context(settings):
        yield


def _svg(figure: "Figure", title: str, description: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    # Drop the XML prologue, so that the drawing can stand inside an HTML page.
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    opening, rest = drawing.split(">", 1)
    return f'{opening} role="img">\n {words}{rest}'


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
