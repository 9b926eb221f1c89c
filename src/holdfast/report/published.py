"""Published numbers beside measured ones."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.report.cells import Cells
from holdfast.report.columns import heading
from holdfast.report.content import Block, Cell, Row, Section, Table
from holdfast.report.numbers import MINUS
from holdfast.report.scores import SHARES, Column, Score


@dataclass(frozen=True)
class Published:
    """A number that a paper prints, as it prints it, and what was measured in its place."""

    table: str
    """Such as "IM-BERT, Table 2"."""
    row: str
    column: str
    value: float
    """As printed: an accuracy of 41.2 percent is 41.2."""
    measured: float | None = None
    """In the same unit; none: what the records have under the same names, if anything."""
    low: float | None = None
    high: float | None = None
    note: str = ""
    """Where the model, the data or the protocol differ."""


def published_section(entries: Sequence[Published], cells: Cells) -> Section | None:
    """Return a table for each published one, with what the records have beside it."""
    if not entries:
        return None
    tables = dict.fromkeys(entry.table for entry in entries)
    blocks: list[Block] = [
        _table(name, [e for e in entries if e.table == name], cells) for name in tables
    ]
    lead = (
        "What the papers print, and what was measured here. A number of another model, other data "
        "or another protocol need not agree."
    )
    return Section("published", "Published and measured", lead, tuple(blocks))


def _table(name: str, entries: Sequence[Published], cells: Cells) -> Table:
    rows = []
    for entry in entries:
        value, low, high = _measured(entry, cells)
        told = (
            (Cell("\N{EM DASH}"),) * 3 if value is None else _cells(value, low, high, entry.value)
        )
        rows.append(Row(Cell(entry.row, detail=entry.column), (Cell(f"{entry.value:g}"), *told)))
    notes = tuple(dict.fromkeys(entry.note for entry in entries if entry.note))
    head = tuple(
        map(Cell, ("row and column", "published", "measured", "95 % interval", "difference"))
    )
    return Table(f"{name}: published and measured", head, tuple(rows), notes, title=name)


def _cells(
    value: float, low: float | None, high: float | None, published: float
) -> tuple[Cell, Cell, Cell]:
    digits = ".1f" if max(abs(value), abs(published)) >= 5 else ".3f"  # accuracies, or distances
    ends = "" if low is None or high is None else f"{low:{digits}} to {high:{digits}}"
    difference = f"{value - published:+{digits}}".replace("-", MINUS)
    return Cell(f"{value:{digits}}"), Cell(ends), Cell(difference)


def _measured(entry: Published, cells: Cells) -> tuple[float | None, float | None, float | None]:
    """Return what was given, else what the records have under the same names."""
    if entry.measured is not None:
        return entry.measured, entry.low, entry.high
    found = [
        (column, score)
        for column in cells.columns
        if column.metric in SHARES and _plain(entry.column) in _names(column)
        for model, score in cells.scores(column).items()
        if _plain(model) == _plain(entry.row)
    ]
    if not found or _several_attacks([column for column, _ in found]):
        return None, None, None
    return _in_percent(found[0][1])


def _several_attacks(columns: Sequence[Column]) -> bool:
    """Whether nobody knows which of several attacks of one name a paper's number is to stand by."""
    as_given = columns[0].without_settings()
    return len({column for column in columns if column.without_settings() == as_given}) > 1


def _names(column: Column) -> set[str]:
    """Return what a paper may call a column; it knows no settings, but who writes for it may."""
    return {
        _plain(name)
        for one in (column, column.without_settings())
        for name in _own_names(one)
        if name
    }


def _own_names(column: Column) -> Iterator[str | None]:
    yield heading(column)
    if column.metric == "accuracy_under_attack":
        yield column.attack
    if column.metric == "accuracy":
        yield column.task.rpartition("/")[2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _in_percent(score: Score) -> tuple[float, float | None, float | None]:
    low, high = (None if end is None else 100 * end for end in (score.low, score.high))
    return 100 * score.value, low, high
