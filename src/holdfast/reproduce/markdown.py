"""A reproduction as Markdown: reproduction.md."""

from collections.abc import Iterator, Sequence

from holdfast.reproduce.lines import BELOW_TEXT, any_below, header, lines
from holdfast.reproduce.result import Grid, Result


def markdown(result: Result) -> str:
    """Return the page."""
    return "\n".join(_page(result)).rstrip() + "\n"


def _page(result: Result) -> Iterator[str]:
    recipe, setting = result.reproduction, result.setting
    yield f"# {recipe.published.paper}: {recipe.published.title}\n"
    yield f"`holdfast reproduce {recipe.name} --budget {setting.budget.name}`\n"
    if setting.budget.warning:
        yield f"**{setting.budget.warning}**\n"
    for grid in result.grids:
        yield f"## {'Published and measured' if grid.main else grid.title}\n"
        yield from table(grid)
        if any_below(grid):
            yield f"{BELOW_TEXT}\n"
    yield f"{progress(result)}\n"
    yield from _listed("What could not be finished", result.failed)
    yield from _listed("Where this is not the paper's experiment", result.differences)
    yield from _listed("What the paper reads out of it", recipe.published.claims)
    yield from _listed("Doubts about the published numbers", result.notes)
    yield "## Protocol\n"
    yield recipe.protocol.strip() + "\n"
    yield from _listed(
        "What the paper leaves open, and what was taken",
        [f"{choice.open} **{choice.taken}**" for choice in recipe.choices],
    )


def progress(result: Result) -> str:
    """Return how much of it is there."""
    whole = "The one cell" if result.cells == 1 else f"All {result.cells} cells"
    if result.done == result.cells and not result.missing:
        return f"{whole} of this budget {'is' if result.cells == 1 else 'are'} done."
    return (
        f"{result.done} of the {result.cells} cells of this budget are done, and {result.missing} "
        "rows are not complete; the same command goes on."
    )


def table(grid: Grid) -> Iterator[str]:
    """Yield the lines of a table."""
    head = header(grid)
    yield _row(head)
    yield _row(["---", "---", *["---:"] * len(grid.columns)])
    for line in lines(grid):
        yield _row(line)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"## {title}\n"
        yield from (f"- {item}" for item in items)
        yield ""
