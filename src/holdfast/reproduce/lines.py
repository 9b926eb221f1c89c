"""The lines of a table: what is published, what was measured, its interval; for text and Markdown.

Each row of the paper takes up to three lines, so that a table of seven columns stays readable.
"""

from collections.abc import Iterator

from holdfast.reproduce.fill import Value
from holdfast.reproduce.result import Entry, Grid

BELOW = "!"
"""Behind a number that always answering the most frequent class would reach."""
DIGITS = {"%": 1, "G": 2, "M": 1, "ms": 2, "": 4}


def header(grid: Grid) -> list[str]:
    """Return the head of a table; a column of one unit other than per cent has it."""
    return ["", "", *(_with_unit(column, _units(grid, column)) for column in grid.columns)]


def lines(grid: Grid) -> Iterator[list[str]]:
    """Yield the lines of each row; a line without any number is left out."""
    mixed = any(len(_units(grid, column)) > 1 for column in grid.columns)
    for row in grid.rows:
        entries = [grid.at(row, column) for column in grid.columns]
        known = [entry for entry in entries if entry is not None]
        by_formula = all(entry.computed for entry in known if entry.measured)
        found = {
            "published": [_published(entry) for entry in entries],
            "computed" if by_formula else "measured": [_measured(entry) for entry in entries],
            "95 % interval": [_interval(entry) for entry in entries],
        }
        told = _with_unit(row, {entry.unit for entry in known}) if mixed else row
        for name, cells in found.items():
            if any(cells):
                yield [told, name, *cells]
                told = ""
    majorities = [_majority(grid, column) for column in grid.columns]
    if any(majorities):
        yield ["most frequent class", "", *majorities]


def _majority(grid: Grid, column: str) -> str:
    """Return what always answering the most frequent class scores; of several tasks: the range."""
    known = [
        (entry.measured.majority, entry.unit)
        for entry in grid.entries
        if entry.column == column and entry.measured and entry.measured.majority is not None
    ]
    ends = [number_text(*end) for end in (min(known), max(known))] if known else []
    return " to ".join(dict.fromkeys(ends))


def _units(grid: Grid, column: str) -> set[str]:
    return {entry.unit for entry in grid.entries if entry.column == column}


def _with_unit(name: str, units: set[str]) -> str:
    """Return a row or column with the unit that all of it has, unless that is per cent."""
    unit = next(iter(units)) if len(units) == 1 else ""
    return name if unit in ("%", "", "x") else f"{name} ({unit})"


def _published(entry: Entry | None) -> str:
    number = None if entry is None else entry.published
    if number is None:
        return ""
    return f"{number.value:g}" + ("" if number.spread is None else f" ±{number.spread:g}")


def _measured(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.measured is None:
        return "missing" if entry.planned else ""
    mark = BELOW if entry.measured.no_better_than_majority else ""
    return number_text(entry.measured.value, entry.unit) + mark


def _interval(entry: Entry | None) -> str:
    value: Value | None = None if entry is None else entry.measured
    if entry is None or value is None or value.low is None or value.high is None:
        return ""
    low, high = number_text(value.low, entry.unit), number_text(value.high, entry.unit)
    return f"{low} to {high}"


def number_text(value: float, unit: str) -> str:
    """Return a number with the digits that suit its unit."""
    if unit == "x":
        return f"{value:.3g}"
    if unit != "%" and value and abs(value) < 10 ** -DIGITS[unit]:
        return f"{value:.1e}"
    return f"{value:.{DIGITS[unit]}f}" if abs(value) < 1e6 else f"{value:.3g}"


def any_below(grid: Grid) -> bool:
    """Whether some number is no better than the majority class."""
    return any(e.measured is not None and e.measured.no_better_than_majority for e in grid.entries)


BELOW_TEXT = f"{BELOW} no better than always answering the most frequent class."
