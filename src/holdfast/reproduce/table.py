"""Which record fills which place of a table."""

from dataclasses import dataclass

UNREPORTED = "What the paper does not report"
COST = "What a forward pass of 128 tokens costs"


@dataclass(frozen=True)
class Source:
    """A number of the records of one model, over all its seeds."""

    row: str
    """The model, as `Cell.row` calls it."""
    task: str
    """As records name it: sst2, advglue/sst2."""
    metric: str
    attack: str | None = None
    group: str = ""
    along: float | None = None
    """Of a curve of that name: how far along it, from 0 to 1; none: it is no curve."""


@dataclass(frozen=True)
class Place:
    """A place in a table: the plain mean of its sources, where all of them are there."""

    row: str
    column: str
    sources: tuple[Source, ...] = ()
    unit: str = "%"
    weighted: bool = False
    """Whether a source counts as much as it has examples."""
    of: tuple["Place", ...] = ()
    """Instead of sources: other places, whose plain mean it is."""
    computed: float | None = None
    """Instead of sources: a number that follows from a formula, without any run."""
    table: str = ""
    """Heading of the table it stands in; empty: the paper's own."""


def white_box(row: str, task: str) -> Source:
    """Return what the strongest attack by gradients leaves, where a budget has it."""
    return Source(row, task, "white_box_accuracy", attack="adaptive")
