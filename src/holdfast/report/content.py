"""What a report is made of, apart from how it looks: the page and its twin show the same blocks."""

from dataclasses import dataclass, field
from typing import Literal

from holdfast.report.sketch import Sketch


@dataclass(frozen=True)
class Spark:
    """A number on a line from 0 to 1, with its interval and a tick for the majority class."""

    value: float
    low: float | None = None
    high: float | None = None
    majority: float | None = None


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    detail: str = ""
    """In smaller letters below: the interval, how many examples."""
    flag: str = ""
    """Words of a mark, such as "no better than majority"; the page puts a sign before them."""
    best: bool = False
    """Whether it is the highest of its column."""
    spark: Spark | None = None


@dataclass(frozen=True)
class Row:
    """One row: what it is about, then its cells."""

    head: Cell
    cells: tuple[Cell, ...]
    kind: Literal["measured", "baseline"] = "measured"


@dataclass(frozen=True)
class Table:
    """Rows under a head; `head[0]` stands above what the rows are about."""

    caption: str
    head: tuple[Cell, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    title: str = ""
    """A heading above the table, where a section has several."""
    left: bool = False
    """Whether the cells are words and stand left, not numbers that stand right."""


@dataclass(frozen=True)
class Figure:
    """A drawing, and the numbers it was drawn from."""

    name: str
    """Of its file, and of its place in the page; no two figures of a report share it."""
    sketch: Sketch
    numbers: Table
    note: str = ""
    """What a reader must know to read it."""


@dataclass(frozen=True)
class Reach:
    """A difference and its interval on a line from -`scale` to `scale`."""

    value: float
    low: float
    high: float
    scale: float


@dataclass(frozen=True)
class Finding:
    """A plain sentence, with what it says as a drawing."""

    text: str
    reach: Reach | None = None
    strong: bool = False
    """Whether it is more than chance."""


@dataclass(frozen=True)
class Findings:
    """Sentences under a heading of their own."""

    title: str
    items: tuple[Finding, ...]
    quiet: tuple[Finding, ...] = ()
    """More of them, which the page shows when asked."""
    folded: bool = False
    """Whether the page shows all of them only when asked."""


@dataclass(frozen=True)
class Piece:
    """A part of a text: as it was, and what stands there now where that differs."""

    old: str
    new: str | None = None
    """None: unchanged; empty: taken out."""


@dataclass(frozen=True)
class Example:
    """One text under one attack on one model."""

    model: str
    task: str
    attack: str
    status: str
    """What became of it, in a word or two."""
    kind: str
    """The same as the record has it."""
    label: str
    before: str
    """What the model said of the text, and how surely."""
    after: str
    """The same of the changed text; empty: there is none."""
    texts: tuple[tuple[Piece, ...], ...]
    facts: str
    """Words changed, queries."""
    seed: str = ""


@dataclass(frozen=True)
class Gallery:
    """Examples to look through, drawn from all there are."""

    examples: tuple[Example, ...]
    total: int
    """How many there are in the files of outcomes."""


Block = Table | Figure | Findings | Gallery


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading of its own."""

    name: str
    """Its place in the page: what a link to it ends with."""
    title: str
    lead: str
    """A sentence or two on how to read it."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Alert:
    """Something to know before any number is read."""

    level: Literal["warning", "record", "note"]
    """Found here; told by a record, which does not say how grave it is; worth knowing."""
    text: str
    where: str = ""
    """Which records it is about."""


@dataclass(frozen=True)
class Content:
    """The whole report, ready to be shown."""

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    """What there is of each kind: a number and a word."""
    alerts: tuple[Alert, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read."""
    sections: tuple[Section, ...] = field(default=())
    made_with: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure, in order."""
        blocks = (block for section in self.sections for block in section.blocks)
        return tuple(block for block in blocks if isinstance(block, Figure))
