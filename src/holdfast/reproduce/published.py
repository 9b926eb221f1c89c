"""The numbers the papers print, from published.toml."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Number:
    """One number of a paper."""

    table: str
    row: str
    column: str
    value: float
    unit: str
    """%, G (billions of operations), M (millions of weights)."""
    spread: float | None = None
    """What the paper puts behind its plus-minus sign."""
    note: str = ""
    """What is doubtful about it."""


@dataclass(frozen=True)
class Note:
    """A remark on a row, a column, one number (both) or the whole table (neither)."""

    text: str
    row: str = ""
    column: str = ""

    def about(self, row: str, column: str) -> bool:
        """Whether it is about this number, and not about the whole table."""
        named = bool(self.row or self.column)
        return named and self.row in ("", row) and self.column in ("", column)


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper."""

    name: str
    title: str
    paper: str
    """Where it stands."""
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    numbers: tuple[Number, ...]
    notes: tuple[Note, ...]
    claims: tuple[str, ...]
    """What the paper reads out of it."""

    def number(self, row: str, column: str) -> Number | None:
        """Return the number at that place, where the paper has one."""
        found = (n for n in self.numbers if (n.row, n.column) == (row, column))
        return next(found, None)


@cache
def published() -> Mapping[str, PublishedTable]:
    """Return every table by its name."""
    source = files("holdfast.reproduce").joinpath("published.toml")
    content = tomllib.loads(source.read_text(encoding="utf-8"))
    return MappingProxyType({name: _table(name, section) for name, section in content.items()})


def _table(name: str, section: Mapping[str, Any]) -> PublishedTable:
    notes = tuple(Note(**note) for note in section.get("notes", ()))
    rows: Mapping[str, Sequence[Any]] = section.get("rows", {})
    return PublishedTable(
        name=name,
        title=section["title"],
        paper=section["paper"],
        columns=tuple(section["columns"]),
        rows=tuple(rows),
        numbers=tuple(_numbers(name, section, rows, notes)),
        notes=notes,
        claims=tuple(claim["text"] for claim in section.get("claims", ())),
    )


def _numbers(
    name: str,
    section: Mapping[str, Any],
    rows: Mapping[str, Sequence[Any]],
    notes: Sequence[Note],
) -> Iterator[Number]:
    of_columns, of_rows = section.get("units", {}), section.get("units_of_rows", {})
    spreads = section.get("spread", {})
    for row, values in rows.items():
        spread = spreads.get(row, [""] * len(values))
        for column, value, apart in zip(section["columns"], values, spread, strict=True):
            if value == "":
                continue
            yield Number(
                table=name,
                row=row,
                column=column,
                value=float(value),
                unit=of_rows.get(row, of_columns.get(column, section["unit"])),
                spread=None if apart == "" else float(apart),
                note=" ".join(note.text for note in notes if note.about(row, column)),
            )
