"""From the campaign's runs to results/, and from results/ to the tables of docs/results.

    python scripts/results.py pack RUNS --commit SHA    # records, without the data sets' texts
    python scripts/results.py pages                     # fills the marked blocks of the pages
    python scripts/results.py unpack FILE FOLDER        # single records, to run a cell again

A block stands between `<!-- table imbert-table3 imbert-sst2 all-MiniLM-L6-v2 -->` and
`<!-- end -->`; what lies between is written here, the rest by hand. As a study `one+other` are two
side by side, `one|faster` those of which each model has its best.
"""

import argparse
import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from attackers import met_the_same, told_apart
from certified_table import certified_table
from over_tasks import over_tasks
from own_rate import at_own_rate, rates_table
from packing import file_of, pack, unpack
from studies import MODELS, STUDIES, Study

from holdfast.evaluate.comparing import Finding, findings
from holdfast.record import RunRecord, read_collection
from holdfast.reproduce import REPRODUCTIONS, Setting, Shape
from holdfast.reproduce.composition import ATTACKS
from holdfast.reproduce.fill import Shelf
from holdfast.reproduce.further import ATTACKS as FURTHER
from holdfast.reproduce.joined import trained_task
from holdfast.reproduce.lines import BELOW_TEXT, any_below
from holdfast.reproduce.markdown import table
from holdfast.reproduce.misspellers import ATTACKS as MISSPELT
from holdfast.reproduce.result import Grid, grids_of
from holdfast.reproduce.table import COST
from holdfast.statistics import Comparison

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "results"
SHAPES = {
    "all-MiniLM-L6-v2": Shape("bert", 6, 384, 1536),
    "e5-small": Shape("bert", 12, 384, 1536, pooler=False),
}
BLOCK = re.compile(
    r"(?P<head><!-- (?P<kind>table|against|rates|runs|certified) (?P<what>[^>]*?) -->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)


@cache
def records_of(studies: str, model: str) -> tuple[RunRecord, ...]:
    """Return the published records of a study, or of several: `one+other`.

    Beside others a model of a faster study says so in its name: `BERT x4`. Of `one|faster` each
    model is there once, at the rate that suits it.
    """
    if "|" in studies:
        return at_own_rate(by_rate(studies, model))
    names = studies.split("+")
    return tuple(
        record if len(names) == 1 else marked(record, STUDIES[name].rate)
        for name in names
        for record in read_collection(file_of(name, model))
    )


def by_rate(studies: str, model: str) -> dict[float, tuple[RunRecord, ...]]:
    """Return learning rate to records, of studies that differ in nothing else: `one|faster`."""
    return {
        STUDIES[name].rate * MODELS[model]: records_of(name, model) for name in studies.split("|")
    }


def marked(record: RunRecord, rate: float) -> RunRecord:
    """Return a record whose model's name tells a rate that is not its encoder's own."""
    return record if rate == 1 else dataclasses.replace(record, model=f"{record.model} x{rate:g}")


def setting_of(study: Study, model: str) -> Setting:
    """Return what the study ran with, as far as its tables depend on it; no file is read."""
    return Setting(
        model=model,
        output=Path("runs"),
        shape=SHAPES[model],
        budget=study.budget_for(model),
        data=Path("data"),
        joined=Path("data/substitutions/joined_neighbors.json"),
        further=Path("data/substitutions/further_neighbors.json"),
        advglue=Path("data/advglue/dev_ann.json"),
        precision="bf16",
        reading="aligned",
    )


def grids(reproduction: str, study: str, model: str) -> tuple[Grid, ...]:
    """Return the tables of a reproduction with what was measured."""
    shelf, first = Shelf(records_of(study, model)), STUDIES[re.split(r"[+|]", study)[0]]
    found = grids_of(REPRODUCTIONS[reproduction], setting_of(first, model), shelf)
    beside = first.rate != 1 or "|" in study
    return tuple(part for grid in found if (part := measured(grid, beside=beside)).entries)


def measured(grid: Grid, *, beside: bool) -> Grid:
    """Return a table's rows of which something was measured; by a formula alone is not enough.

    A table of costs has no column that nobody measured, nor has one `beside` another, at another
    rate; the others show what is missing.
    """
    rows = {e.row for e in grid.entries if e.measured is not None and not e.computed}
    shown = [e for e in grid.entries if e.row in rows]
    known = {e.column for e in shown if e.measured is not None}
    cut = beside or grid.title == COST
    return dataclasses.replace(
        grid, entries=tuple(e for e in shown if e.column in known or not cut)
    )


def table_block(reproduction: str, study: str, model: str) -> Iterator[str]:
    """Yield the tables of a reproduction."""
    for grid in grids(reproduction, study, model):
        yield from ([] if grid.main else [f"**{grid.title}**", ""])
        yield from table(grid)
        if any_below(grid):
            yield from (BELOW_TEXT, "")
    yield from told_apart(records_of(study, model), COLUMNS)


def against_block(study: str, model: str, *names: str) -> Iterator[str]:
    """Yield a table of the named models minus the reference: `BERT : IM-BERT, Theta`.

    Of a study of several tasks: the mean over them.
    """
    reference, _, others = " ".join(names).partition(" : ")
    rows = others.split(", ")
    own = [r for r in records_of(study, model) if r.model in {reference, *rows}]
    found = findings(met_the_same((r for r in own if r.kind == "evaluation"), reference), reference)
    cells = over_tasks(found, column_of)
    columns = list(dict.fromkeys(column for _, column in cells))
    yield f"| minus {reference} | seeds | {' | '.join(columns)} |"
    yield "| --- | ---: |" + " ---: |" * len(columns)
    for row in rows:
        of = [cells.get((row, column)) for column in columns]
        seeds = sorted({comparison.seeds for comparison in of if comparison is not None})
        shown = " | ".join(map(difference_text, of))
        span = " to ".join(map(str, dict.fromkeys(seeds[:1] + seeds[-1:])))
        yield f"| {row} | {span} | {shown} |"
    yield ""
    several = len({trained_task(one.group.task) for one in found}) > 1
    yield (
        f"Points{', the mean over the tasks,' if several else ','} and their 95 % intervals. Bold: "
        f"told apart, after Holm's correction for {len(cells)} comparisons."
    )
    yield ""


COLUMNS = {
    **{attack: column for column, attack in {**ATTACKS, **FURTHER, **MISSPELT}.items()},
    "adaptive": "white box",
    "textfooler": "TextFooler",
}
"""Attack to what the tables call it."""


def column_of(found: Finding) -> str:
    """Return what was compared, in a word or two."""
    if found.metric == "paired_accuracy":
        return "AdvGLUE paired"
    attack = found.group.attack
    return "clean" if attack is None else COLUMNS.get(attack, attack)


def difference_text(comparison: Comparison | None) -> str:
    """Return a difference in points, bold where it can be told."""
    if comparison is None:
        return ""
    value, low, high = (100 * part for part in dataclasses.astuple(comparison.difference)[:3])
    mark = "**" if comparison.significant else ""
    return f"{mark}{value:+.1f}{mark} ({low:.1f} to {high:.1f})"


def rates_block(studies: str, model: str) -> Iterator[str]:
    """Yield what chose each model's learning rate."""
    yield from rates_table(by_rate(studies, model))


def runs_block(*names: str) -> Iterator[str]:
    """Yield what was run and what it took, of studies and models by turns."""
    yield "| study | model | trainings | seeds | minutes of training | of measuring |"
    yield "| --- | --- | ---: | --- | ---: | ---: |"
    for study, model in zip(names[::2], names[1::2], strict=True):
        kinds = ("training", "evaluation")
        trained, measured = (
            [record for record in records_of(study, model) if record.kind == kind] for kind in kinds
        )
        seeds = ", ".join(sorted({str(record.seed) for record in trained}))
        spent = (sum(record.seconds for record in of) / 60 for of in (trained, measured))
        minutes = " | ".join(f"{part:.0f}" for part in spent)
        yield f"| {study} | {model} | {len(trained)} | {seeds} | {minutes} |"
    yield ""


def certified_block(study: str, model: str) -> Iterator[str]:
    """Yield which share of the answers no text of an attack can change."""
    yield from certified_table(records_of(study, model), COLUMNS)


KINDS: dict[str, Callable[..., Iterator[str]]] = {
    "table": table_block,
    "against": against_block,
    "rates": rates_block,
    "runs": runs_block,
    "certified": certified_block,
}


def filled(page: str) -> str:
    """Return a page with its blocks written anew."""

    def block(match: re.Match[str]) -> str:
        lines = KINDS[match["kind"]](*match["what"].split())
        return match["head"] + "\n" + "\n".join(lines) + match["end"]

    return BLOCK.sub(block, page)


def main() -> None:
    """Do what the command says."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("runs", type=Path)
    packing.add_argument(
        "--commit", required=True, help="of the code that ran, for records that do not say it"
    )
    packing.add_argument("--studies", nargs="+", default=list(STUDIES), choices=list(STUDIES))
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("file", type=Path)
    unpacking.add_argument("folder", type=Path)
    commands.add_parser("pages")
    options = parser.parse_args()
    if options.command == "pack":
        return pack(options.runs, options.commit, options.studies)
    if options.command == "unpack":
        return unpack(options.file, options.folder)
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
