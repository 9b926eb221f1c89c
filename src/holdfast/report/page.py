"""The report as one HTML page that needs nothing else: no network, no other file."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.report.content import Block, Content, Figure
from holdfast.report.sketch import Sketch

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
ALERTS_SHOWN, PROBLEMS_SHOWN = 12, 20
SIGNS = {
    "succeeded": "✗",
    "failed": "✓",
    "skipped": "\N{EN DASH}",
    "untouched": "○",
    "certain": "✓",
    "unanswered": "?",
}


ALERT_SIGNS = {
    "warning": ("⚠", "Warning"),
    "record": ("❧", "From the records"),
    "note": ("\N{INFORMATION SOURCE}", "Note"),
}


def page(content: Content) -> str:
    """Return the page; every text of the records is escaped, whatever stands in it."""
    from markupsafe import Markup

    numbers = {figure.name: f"fig-{at}" for at, figure in enumerate(content.figures, 1)}

    def numbered(figure: Figure) -> str:
        return numbers[figure.name]

    def inline(drawing: Sketch, prefix: str) -> Markup:
        return Markup(drawing.inline(prefix))  # matplotlib escapes what it writes

    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    shown: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            content=content,
            style=Markup(style),
            script=Markup(script),
            script_hash=_hash(script),
            inline=inline,
            numbered=numbered,
            signs=SIGNS,
            alert_signs=ALERT_SIGNS,
            alerts_shown=ALERTS_SHOWN,
            problems_shown=PROBLEMS_SHOWN,
        )
    )
    return shown


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["runs"] = runs
    environment.filters["choices"] = choices
    return environment


def runs(blocks: Iterable[Block]) -> list[tuple[str, list[Block]]]:
    """Return neighbours of one kind together, with the name of the kind."""
    grouped = groupby(blocks, key=lambda block: type(block).__name__)
    return [(kind, list(members)) for kind, members in grouped]


def choices(examples: Sequence[Any], name: str) -> list[tuple[str, str]]:
    """Return the values that a field of the examples has, each with how many have it."""
    values = [getattr(example, name) for example in examples]
    return [(value, f"{value} ({values.count(value)})") for value in dict.fromkeys(values)]


def _hash(script: str) -> str:
    """Return what the page's security policy calls its one script by; no other can run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
