"""`holdfast report`: from records one page to look at, its Markdown twin, CSV and a model card."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.commands.settings import Interface
from holdfast.errors import InputError
from holdfast.record import find_records, refuse_folder
from holdfast.report.whole import CARD, PAGE, ROWS, TWIN, write_report


@dataclass(frozen=True)
class ReportOptions:
    """What `holdfast report` takes."""

    places: tuple[Path, ...] = ()
    """Records, or folders that are searched for them; they may also stand without this name."""
    output: Path = Path("report")
    """Folder for report.html, report.md, records.csv, model_card.md and the drawings."""
    title: str | None = None
    """Heading of the page; none: what the records are about."""
    reference: str | None = None
    """Model that the others are compared with; none: one called plain, else the first."""
    examples: int = 600
    """Most adversarial texts in the page; 0: none."""

    def __post_init__(self) -> None:
        if not self.places:
            raise InputError("There is nothing to report on; name a record or a folder of them.")
        if self.examples < 0:
            raise InputError(f"--examples is {self.examples}; expected 0 or more.")


INTERFACE = Interface(
    "report",
    "Make one page of any number of records, those of holdfast evaluate and of holdfast train: "
    "holdfast report results/ runs/ --output report/. The page needs no network; what cannot be "
    "read is listed in it.",
    ReportOptions,
    switches={"json": "print what was written as one JSON object"},
    free="places",
)


def run(argv: Sequence[str]) -> None:
    """Read the records, write the report, say where it is."""
    options, given = INTERFACE.read(argv)
    refuse_folder(options.output)
    found = find_records(options.places)
    write_report(
        found,
        options.output,
        title=options.title,
        reference=options.reference,
        examples=options.examples,
    )
    if "json" in given:
        print(json.dumps(told(options, len(found.records), found.problems)))
        return
    for problem in found.problems:
        print(f"not read: {problem}")
    print(f"{len(found.records)} records -> {options.output / PAGE}")
    others = ", ".join(name for name in (TWIN, ROWS, CARD))
    print(f"beside it: {others}")


def told(options: ReportOptions, records: int, problems: Sequence[str]) -> dict[str, object]:
    """Return what was written, as plain values."""
    names = {"page": PAGE, "markdown": TWIN, "rows": ROWS, "model_card": CARD}
    files = {key: str(options.output / name) for key, name in names.items()}
    return {"records": records, **files, "problems": list(problems)}
