"""Reproductions for a reader at a terminal."""

from collections.abc import Iterable, Iterator, Sequence

from holdfast.commands.table import NBSP, paragraph, table
from holdfast.reproduce import Again, Reproduction, Result
from holdfast.reproduce.again import Compared
from holdfast.reproduce.explanation import Explanation
from holdfast.reproduce.lines import BELOW_TEXT, any_below, header, lines
from holdfast.reproduce.markdown import progress
from holdfast.reproduce.reproduce import page_folder
from holdfast.reproduce.result import Grid


def listed(recipes: Iterable[Reproduction]) -> str:
    """Return every reproduction with what it is."""
    rows = [[recipe.name, recipe.about] for recipe in recipes]
    return "\n".join(
        [
            table(["name", "what"], rows),
            "",
            paragraph(
                "holdfast reproduce NAME --explain tells how one is run and what was chosen where "
                "its paper is silent; --model, --data and --budget full run it."
            ),
        ]
    )


def explained(told: Explanation) -> str:
    """Return the protocol, the choices, the cells and the differences of a reproduction."""
    recipe = told.reproduction
    head = f"{recipe.about} ({recipe.name})"
    parts = [paragraph(head), *_paragraphs(recipe.protocol)]
    choices = [[choice.open, choice.taken] for choice in recipe.choices]
    parts.append(table(["the paper leaves open", "taken"], choices))
    parts.append(_bullets("The paper reads out of it:", recipe.published.claims))
    parts.append(_bullets("Where this would not be the paper's experiment:", told.differences))
    count = f"{len(told.cells)} cells with the budget {told.budget}:"
    parts.append("\n".join([count, *(f"  {cell}" for cell in told.cells)]))
    return "\n\n".join(part for part in parts if part)


def shown(result: Result) -> str:
    """Return published, measured and interval side by side, and what differs."""
    recipe, warning = result.reproduction, result.setting.budget.warning
    parts = [paragraph(recipe.about)]
    parts += [paragraph(warning)] if warning else []
    parts += [_grid(grid) for grid in result.grids]
    parts.append(paragraph(progress(result)))
    parts.append(_bullets("Could not be finished:", result.failed))
    parts.append(_bullets("Where this is not the paper's experiment:", result.differences))
    parts.append(_bullets("The paper reads out of it:", recipe.published.claims))
    parts.append(_bullets("Doubts about the published numbers:", result.notes))
    folder = page_folder(result)
    parts.append(f"written: {folder / 'reproduction.md'}\n         {folder / 'report.html'}")
    return "\n\n".join(part for part in parts if part)


def _grid(grid: Grid) -> str:
    rows = [[_held(cell) for cell in line] for line in lines(grid)]
    parts = [] if grid.main else [grid.title]
    parts.append(table(header(grid), rows))
    if any_below(grid):
        parts.append(BELOW_TEXT)
    return "\n".join(parts)


def _held(cell: str) -> str:
    """Keep an interval in one line."""
    return cell.replace(" to ", f"{NBSP}to{NBSP}").replace(" ±", f"{NBSP}±")


def again_text(again: Again) -> str:
    """Return what the record says, what came out now, and whether that fits."""
    record = again.record
    attack = f" under {record.attack}" if record.attack else ""
    rows = [_compared(one) for one in again.compared]
    return "\n".join(
        [
            paragraph(f"{record.model}, {record.task}{attack}, seed {record.seed}: {again.file}"),
            "",
            table(["metric", "record", "95 % interval", "now", ""], rows),
            "",
            paragraph(_verdict(again)),
        ]
    )


def _verdict(again: Again) -> str:
    """Return whether it fits, and what nobody looked at."""
    missing = [one.before.name for one in again.compared if one.now is None]
    if any(one.inside is False for one in again.compared):
        told = ["At least one number lies outside its interval."]
    elif any(one.inside for one in again.compared) and not missing:
        told = ["Every number that has an interval lies in it again."]
    elif not missing:
        told = ["No number has an interval, so none can be said to lie in it."]
    else:
        told = []
    if missing:
        told.append(f"The record has {', '.join(missing)}, which did not come out this time.")
    if again.left_out:
        told.append(f"Not compared, as costs are not measured again: {', '.join(again.left_out)}.")
    return " ".join(told)


def _compared(one: Compared) -> list[str]:
    before = one.before
    ends = "" if before.low is None else f"{before.low:.4g}{NBSP}to{NBSP}{before.high:.4g}"
    words = {True: "inside", False: "outside", None: "no interval"}
    name = f"{before.name} {before.group}".strip()
    now, word = f"{one.now or 0.0:.4g}", words[one.inside]
    if one.now is None:
        now, word = "missing", ""
    return [name, f"{before.value:.4g}", ends, now, word]


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.strip().split("\n\n"):
        yield paragraph(" ".join(part.split()))


def _bullets(head: str, items: Sequence[str]) -> str:
    return "\n".join([head, *(paragraph(f"- {item}") for item in items)]) if items else ""
