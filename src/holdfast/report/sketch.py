"""A drawing for a page: one panel as SVG, which takes the colours of the page it stands in.

Drawn in the fixed colours of `figures`, so the file looks right anywhere; inside a page those
colours become CSS variables, and the same drawing works on light and on dark.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from holdfast.report.figures import LINE_STYLES, LineStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID, PAPER, FILL, FAINT = "#000000", "#dddddd", "#ffffff", "#cfe3f1", "#6e6e6e"
WIDTH, HEIGHT = 4.4, 2.9  # inches of a drawing without its legend: read well on a phone too
VARIABLES = {INK: "currentColor", GRID: "var(--grid)", FILL: "var(--region)", FAINT: "var(--muted)"}
VARIABLES |= {style.color.lower(): f"var(--line-{n})" for n, style in enumerate(LINE_STYLES, 1)}

_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
MARGINS = {"right": 0.12, "above": 0.08, "below": 0.5}  # inches around the axes
ROW = 0.2  # inches of a line of the legend
LONGEST_PAIRED = 18  # characters of names that stand two in a line of the legend
LONGEST_NAME = 30  # characters of a name in a drawing; the numbers have all of it


@dataclass(frozen=True)
class Sketch:
    """A drawing with its title and, in words, what it shows."""

    title: str
    description: str
    svg: str

    def inline(self, prefix: str) -> str:
        """Return the drawing to stand in a page, where no other has this prefix."""
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", self.svg, flags=re.DOTALL)
        svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
        # Tags alone are rewritten: a label may say id="x" or #000000 and mean it.
        svg = re.sub(r"<[^>]+>", lambda tag: _tag_in_page(tag[0], prefix), svg)
        svg = svg.replace("<title>", f'<title id="{prefix}-title">', 1)
        return svg.replace("<desc>", f'<desc id="{prefix}-desc">', 1)


def _tag_in_page(tag: str, prefix: str) -> str:
    if tag.startswith("<svg "):
        named = f'aria-labelledby="{prefix}-title" aria-describedby="{prefix}-desc"'
        labels = f'{named} fill="currentColor"'
        return re.sub(r'<svg (.*?)width="[^"]*" height="[^"]*"', rf"<svg {labels} \1", tag)
    tag = tag.replace(f"fill: {PAPER}", "fill: none")
    tag = re.sub('#[0-9a-f]{6}(?=[;"])', lambda hue: VARIABLES.get(hue[0], hue[0]), tag)
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)  # that of the page
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', tag)
    return re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", tag)


def sketch(
    title: str,
    description: str,
    panel: Callable[["Axes"], None],
    height: float = HEIGHT,
) -> Sketch:
    """Draw one panel; a legend, if its lines have labels, stands below it.

    `height` is without the legend, in inches.
    """
    with _look():
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height))
        axes = figure.subplots()
        panel(axes)
        _place(figure, axes, height)
        buffer = io.StringIO()
        # The canvas itself: Figure.savefig draws everything twice.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    opening, rest = drawing[drawing.index("<svg") :].split(">", 1)
    words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    return Sketch(title, description, f'{opening} role="img">\n {words}{rest}')


def _place(figure: "Figure", axes: "Axes", height: float) -> None:
    """Give the axes their place, and the legend its own below them.

    Matplotlib could find the places by measuring all texts, in several times the time.
    """
    handles, labels = axes.get_legend_handles_labels()
    columns = 1 if max(map(len, labels), default=0) > LONGEST_PAIRED or len(labels) == 1 else 2
    rows = -(-len(labels) // columns)
    whole = height + ROW * rows
    figure.set_figheight(whole)
    below = MARGINS["below"] + ROW * rows
    figure.subplots_adjust(
        left=_left(axes) / WIDTH,
        right=1 - MARGINS["right"] / WIDTH,
        top=1 - MARGINS["above"] / whole,
        bottom=below / whole,
    )
    if labels:
        figure.legend(handles, labels, loc="lower center", ncols=columns, borderaxespad=0.1)


def _left(axes: "Axes") -> float:
    """Return the inches that the names beside the vertical axis need."""
    if not axes.axison:
        return MARGINS["right"]
    ticks = axes.yaxis.get_major_formatter().format_ticks(list(axes.get_yticks()))
    longest = max((len(tick) for tick in ticks), default=0)
    return 0.38 + 0.085 * max(3, 6 if axes.get_yscale() == "log" else longest)


def style_of(index: int) -> LineStyle:
    """Return the style of a line; beyond six a colour comes again with other dashes and marker."""
    color = LINE_STYLES[index % len(LINE_STYLES)].color
    dashes = _DASHES[(index + index // len(LINE_STYLES)) % len(_DASHES)]
    return LineStyle(color, dashes, _MARKERS[index % len(_MARKERS)])


def shown_name(name: str) -> str:
    """Return a name for a drawing: short, and never read as a formula or a hidden label."""
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    short = "".join(char if char.isprintable() else " " for char in short)
    return short.replace("$", r"\$").removeprefix("_") or "?"


@contextmanager
def _look() -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "font.size": 10,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": FAINT,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "grid.color": GRID,
        "legend.frameon": False,
        "legend.labelspacing": 0.25,
        "legend.handlelength": 2.6,
        "hatch.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "svg.fonttype": "none",  # text stays text: the reader's own font, and small
        "svg.hashsalt": "holdfast",
    }
    with matplotlib.rc_context(settings):
        yield
