"""The report as Markdown: the same blocks, for a repository or a terminal."""

import re
from collections.abc import Iterable, Iterator

from holdfast.report.content import (
    Alert,
    Block,
    Cell,
    Content,
    Figure,
    Findings,
    Gallery,
    Piece,
    Row,
    Section,
    Table,
)

MOST_EXAMPLES = 20  # the page has more, and filters them
MOST_NUMBERS = 40  # rows of the numbers behind a figure
FIGURES = "figures"
"""Folder of the drawings, beside the file."""


def markdown(content: Content) -> str:
    """Return the report; every text of the records is escaped, whatever stands in it."""
    parts = [f"# {text_of(content.title)}", text_of(content.subtitle), _facts(content)]
    if content.alerts:
        parts += ["## Read this first", _bullets(_alert(alert) for alert in content.alerts)]
    if content.problems:
        parts += ["## What could not be read", _bullets(map(text_of, content.problems))]
    for section in content.sections:
        parts += list(_section(section))
    parts.append(text_of(content.made_with))
    return "\n\n".join(part for part in parts if part) + "\n"


def file_name(figure: Figure) -> str:
    """Return what the file of a figure is called; nothing in it leads to another folder."""
    return re.sub(r"[^\w-]+", "-", figure.name).strip("-") or "figure"


def text_of(text: str) -> str:
    """Return text on one line in which nothing is read as Markdown or HTML."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~!])", r"\\\1", " ".join(text.split()))
    escaped = escaped.replace("&", "&amp;")
    # A line must not begin a list, a heading or a rule.
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", re.sub(r"^([-+=])", r"\\\1", escaped))


def _facts(content: Content) -> str:
    return " · ".join(f"**{number}** {text_of(word)}" for number, word in content.facts)


def _alert(alert: Alert) -> str:
    where = f" ({text_of(alert.where)})" if alert.where else ""
    level = "From the records" if alert.level == "record" else alert.level.capitalize()
    return f"**{level}.** {text_of(alert.text)}{where}"


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _section(section: Section) -> Iterator[str]:
    yield f"## {text_of(section.title)}"
    yield text_of(section.lead)
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Table):
        yield from _titled(block)
    elif isinstance(block, Figure):
        yield from _figure(block)
    elif isinstance(block, Findings):
        yield f"### {text_of(block.title)}"
        yield _bullets(text_of(one.text) for one in (*block.items, *block.quiet))
    else:
        yield from _gallery(block)


def _titled(table: Table) -> Iterator[str]:
    if table.title:
        yield f"### {text_of(table.title)}"
    yield f"{text_of(table.caption)}."
    yield _rows(table.head, table.rows, left=table.left)
    if table.notes:
        yield _bullets(map(text_of, table.notes))


def _rows(head: Iterable[Cell], rows: Iterable[Row], *, left: bool = False) -> str:
    names = [_cell(cell) for cell in head]
    rule = [":---", *([":---" if left else "---:"] * (len(names) - 1))]
    body = [[_cell(row.head), *map(_cell, row.cells)] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, rule, *body))


def _cell(cell: Cell) -> str:
    text = f"**{text_of(cell.text)}**" if cell.best else text_of(cell.text)
    detail = f" ({text_of(cell.detail)})" if cell.detail else ""
    flag = f" ▼ {text_of(cell.flag)}" if cell.flag else ""
    return f"{text}{detail}{flag}"


def _figure(figure: Figure) -> Iterator[str]:
    yield f"### {text_of(figure.sketch.title)}"
    words = text_of(figure.sketch.description)
    yield f"![{words}]({FIGURES}/{file_name(figure)}.svg)"
    if figure.note:
        yield text_of(figure.note)
    rows = figure.numbers.rows[:MOST_NUMBERS]
    yield _rows(figure.numbers.head, rows)
    if left := len(figure.numbers.rows) - len(rows):
        yield f"{left} more rows are in the page."


def _gallery(gallery: Gallery) -> Iterator[str]:
    for example in gallery.examples[:MOST_EXAMPLES]:
        where = f"{example.model}, {example.task} under {example.attack}"
        yield f"**{text_of(example.status)}** · {text_of(where)}"
        yield "\n>\n".join(f"> {''.join(map(_piece, text))}" for text in example.texts)
        then = f", then {example.after}" if example.after else ""
        yield text_of(f"right: {example.label}; said {example.before}{then}. {example.facts}")
    if (left := len(gallery.examples) - MOST_EXAMPLES) > 0:
        yield f"{left} more are in the page."


def _piece(piece: Piece) -> str:
    """Return a piece with its outer spaces, which `text_of` would drop."""
    if piece.new is None:
        return _spaced(piece.old, "{}")
    old = _spaced(piece.old, "~~{}~~") if piece.old.strip() else ""
    new = _spaced(piece.new, "**{}**") if piece.new.strip() else ""
    return f"{old} {new}".strip() if old and new else old or new


def _spaced(text: str, form: str) -> str:
    inner = text_of(text)
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and inner else ""
    return f"{before}{form.format(inner) if inner else ''}{after}"
