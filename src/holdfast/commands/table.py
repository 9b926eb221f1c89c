"""Tables for the terminal: aligned while they fit, one block a row when they do not."""

import re
import shutil
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

GAP = "  "
NBSP = "\N{NO-BREAK SPACE}"
NARROWEST = 16  # a wrapped column narrower than this is harder to read than blocks

Row = Sequence[str]


def terminal_width() -> int:
    """Return the columns of the terminal, or 100 where there is none."""
    return max(20, shutil.get_terminal_size(fallback=(100, 24)).columns)


def paragraph(text: str) -> str:
    """Return `text` wrapped to the terminal."""
    return textwrap.fill(text, terminal_width(), break_long_words=False, break_on_hyphens=False)


def table(header: Row, rows: Sequence[Row], width: int | None = None) -> str:
    """Return `rows` under `header`; numbers stand right, wide columns wrap if need be."""
    width = width or terminal_width()
    columns = list(zip(header, *rows, strict=True))
    lengths = _lengths(columns, width)
    if lengths is None:
        return _blocks(header, rows, width)
    right = [all(map(_numeric, column[1:])) for column in columns]
    rule = ["-" * length for length in lengths]
    return "\n".join(_row(cells, lengths, right) for cells in (header, rule, *rows))


def _lengths(columns: Sequence[Row], width: int) -> list[int] | None:
    """Return how wide each column is, the widest narrowed until all fit; None: they cannot.

    No column gets narrower than its longest word.
    """
    lengths = [max(map(len, column)) for column in columns]
    least = [max(NARROWEST, *map(_longest_word, column)) for column in columns]
    while sum(lengths) + len(GAP) * (len(lengths) - 1) > width:
        spare = [length if length > low else 0 for length, low in zip(lengths, least, strict=True)]
        if not any(spare):
            return None
        lengths[spare.index(max(spare))] -= 1
    return lengths


def _longest_word(cell: str) -> int:
    return max(map(len, cell.split(" ")))  # NBSP holds words together


def _row(cells: Row, lengths: Sequence[int], right: Sequence[bool]) -> str:
    wrapped = [_lines(cell, length) for cell, length in zip(cells, lengths, strict=True)]
    lines = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        aligned = [
            part.rjust(length) if to_right else part.ljust(length)
            for part, length, to_right in zip(parts, lengths, right, strict=True)
        ]
        lines.append(GAP.join(aligned).rstrip().replace(NBSP, " "))
    return "\n".join(lines)


def _lines(cell: str, length: int) -> list[str]:
    return textwrap.wrap(cell, length, break_on_hyphens=False)


def _blocks(header: Row, rows: Sequence[Row], width: int) -> str:
    """Return each row as lines of `name: value`, the way a phone would show it."""
    return "\n".join(
        "\n".join([_wrap(f"{header[0]} {row[0]}", width, ""), *_fields(header[1:], row[1:], width)])
        for row in rows
    )


def _fields(names: Row, cells: Row, width: int) -> list[str]:
    pairs = zip(names, cells, strict=True)
    return [_wrap(f"{name}: {cell}", width, GAP) for name, cell in pairs if cell]


def _wrap(text: str, width: int, indent: str) -> str:
    hanging = indent + GAP
    text = text.replace(NBSP, " ")
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=hanging)


def _numeric(cell: str) -> bool:
    # A number may carry a unit (12.5 GB) or be two (0.80-0.87); a word makes it a text.
    return re.search(r"[^\W\d_]{4}", cell) is None and not cell[:1].isalpha()


def readable_bytes(count: float) -> str:
    """Return a number of bytes with the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
