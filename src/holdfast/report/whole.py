"""The whole report: records in, one page and its twin out. Pure until it is written; no torch."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import (
    Found,
    RunRecord,
    model_card_section,
    to_csv,
    version,
    write_atomically,
)
from holdfast.report import details
from holdfast.report.attacks import named_by_settings
from holdfast.report.cells import Cells
from holdfast.report.columns import all_columns, base_tasks
from holdfast.report.comparisons import comparisons, reference_model
from holdfast.report.constant import constant_models
from holdfast.report.content import Content, Section
from holdfast.report.encoders import named_by_encoder
from holdfast.report.features import features
from holdfast.report.honesty import alerts
from holdfast.report.inside import inside
from holdfast.report.levels import levels
from holdfast.report.main_table import results
from holdfast.report.markdown import FIGURES, file_name, markdown
from holdfast.report.numbers import counted, joined
from holdfast.report.outcomes import MOST_EXAMPLES, gallery, read_outcomes
from holdfast.report.page import page
from holdfast.report.provenance import definitions, provenance
from holdfast.report.published import Published, published_section
from holdfast.report.scores import ADVGLUE
from holdfast.report.sound import sound
from holdfast.report.sweeps import curves, sweeps
from holdfast.report.tradeoff import tradeoffs
from holdfast.report.training import trainings

PAGE, TWIN, ROWS, CARD = "report.html", "report.md", "records.csv", "model_card.md"


@dataclass(frozen=True)
class Report:
    """What the records say, in two forms."""

    content: Content
    records: tuple[RunRecord, ...]
    """What it was made of: as far as records make sense, under the names it gives them."""

    def html(self) -> str:
        """Return one page that needs no network and no other file."""
        return page(self.content)

    def markdown(self) -> str:
        """Return the same in Markdown; its drawings are in files beside it."""
        return markdown(self.content)


def report(
    found: Found | Iterable[RunRecord],
    published: Sequence[Published] | None = None,
    *,
    title: str | None = None,
    reference: str | None = None,
    examples: int = MOST_EXAMPLES,
) -> Report:
    """Make a report of all records that were found, or of records alone, without their outcomes.

    `published`: numbers of a paper, to stand beside the measured ones. `reference`: the model the
    others are compared with; none: one that is called plain, else the first. `examples`: how many
    adversarial texts are shown at most.
    """
    read = named_by_settings(named_by_encoder(sound(_as_found(found))))
    if not read.records:
        told = f"; {read.problems[0]}" if read.problems else "."
        raise InputError(f"There is no record to report on{told}")
    parts = _Building(read, tuple(published or ()), title, reference, examples)
    return Report(parts.content(), tuple(record for _, record in read.records))


def _as_found(given: Found | Iterable[RunRecord]) -> Found:
    """Return records as if they had been found in files; where their outcomes lie is not known."""
    if isinstance(given, Found):
        return given
    alone = (dataclasses.replace(record, outcomes=None) for record in given)
    return Found(tuple((Path(f"record {n}"), one) for n, one in enumerate(alone, start=1)), ())


@dataclass(frozen=True)
class _Building:
    """The parts of one report, each made once."""

    found: Found
    published: tuple[Published, ...]
    title: str | None
    reference: str | None
    examples: int

    def content(self) -> Content:
        read = read_outcomes(self.found.records)
        records = [record for _, record in self.found.records]
        cells = Cells.of(records)
        known = constant_models(cells, read.one_answer)
        against = self._against(cells.models)
        # The model to compare with comes first, those that are no models last.
        records.sort(key=lambda record: (record.model in known, record.model != against))
        hues = {model: n for n, model in enumerate(dict.fromkeys(r.model for r in records))}
        cells = Cells.of(records)
        columns = all_columns(cells)
        sections: list[Section | None] = [
            results(cells, known),
            comparisons(cells, columns, against),
            tradeoffs(cells, base_tasks(cells.columns), curves(records), hues),
            levels(cells, hues),
            _sweeps(cells, records),
            details.attacks(cells),
            inside(records, hues),
            trainings(records, hues),
            features(records),
            published_section(self.published, cells),
            details.cost(cells),
            gallery(read, self.examples),
            provenance(records),
            definitions(records),
        ]
        return Content(
            title=self.title or _title(records),
            subtitle=_subtitle(records),
            facts=_facts(records, read.total),
            alerts=alerts(records, cells, known, columns),
            problems=(*self.found.problems, *read.problems),
            sections=tuple(section for section in sections if section is not None),
            made_with=f"Made with Holdfast {version()}, {counted(len(records), 'record')}.",
        )

    def _against(self, models: list[str]) -> str | None:
        if self.reference is not None and self.reference not in models:
            raise InputError(
                f"No evaluation record is of the model {self.reference!r}, which the others were "
                f"to be compared with; there are {joined(models) if models else 'none'}."
            )
        return reference_model(models, self.reference)


def _sweeps(cells: Cells, records: Sequence[RunRecord]) -> Section | None:
    """Return the sweeps of what was evaluated, else of what training itself measured."""
    trained = Cells.of(records, kind="training")
    return sweeps(cells, all_columns(cells)) or sweeps(trained, trained.shares())


def _tasks(records: Sequence[RunRecord]) -> list[str]:
    """Return the tasks on which something was trained or got right or wrong."""
    told = (r.task for r in records if r.kind == "training" or r.metric("accuracy"))
    names = dict.fromkeys(told) or dict.fromkeys(record.task for record in records)
    return [name for name in names if not name.startswith(ADVGLUE)]


def _attacks(records: Sequence[RunRecord]) -> list[str]:
    under = (r.attack for r in records if r.attack and r.metric("accuracy_under_attack"))
    return list(dict.fromkeys(under))


def _title(records: Sequence[RunRecord]) -> str:
    models = counted(len({record.model for record in records}), "model")
    tasks = _tasks(records) or ["AdvGLUE"]
    return f"{models} on {joined(tasks, 3)}"


def _subtitle(records: Sequence[RunRecord]) -> str:
    parts = []
    if attacks := _attacks(records):
        parts.append(f"under {joined(attacks, 4)}")
    if any(record.task.startswith(ADVGLUE) for record in records):
        parts.append("on AdvGLUE")
    told = f"How much is left {' and '.join(parts)}" if parts else "What was trained and measured"
    return f"{told}, with intervals and what knowing nothing would score."


def _facts(records: Sequence[RunRecord], outcomes: int) -> tuple[tuple[str, str], ...]:
    seeds = {record.seed for record in records if record.seed is not None}
    counts = (
        (len({record.model for record in records}), "model", "models"),
        (len(_tasks(records)), "task", "tasks"),
        (len(_attacks(records)), "attack", "attacks"),
        (len(seeds), "training seed", "training seeds"),
        (outcomes, "attacked text", "attacked texts"),
        (len(records), "record", "records"),
    )
    return tuple((f"{n:,}", one if n == 1 else many) for n, one, many in counts if n)


def write_report(
    found: Found | Iterable[RunRecord],
    folder: Path,
    published: Sequence[Published] | None = None,
    *,
    title: str | None = None,
    reference: str | None = None,
    examples: int = MOST_EXAMPLES,
) -> list[Path]:
    """Write the page, its twin with its drawings, the rows as CSV and a model card."""
    made = report(found, published, title=title, reference=reference, examples=examples)
    files = {
        PAGE: made.html(),
        TWIN: made.markdown(),
        ROWS: to_csv(made.records),
        CARD: model_card_section(made.records),
    }
    files |= {f"{FIGURES}/{file_name(f)}.svg": f.sketch.svg for f in made.content.figures}
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomically(folder / name, text)
    except OSError as error:
        raise InputError(
            f"The report cannot be written in {folder} ({error.strerror}); choose another folder."
        ) from error
    return [folder / name for name in files]
