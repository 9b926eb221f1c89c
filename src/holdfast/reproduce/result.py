"""A reproduction as a reader sees it: published, measured and interval side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.reproduce.cell import Cell, distinct
from holdfast.reproduce.differences import differences
from holdfast.reproduce.done import is_done
from holdfast.reproduce.fill import Shelf, Value
from holdfast.reproduce.imbert import TASKS, parts
from holdfast.reproduce.probe_cost import KIND as COST
from holdfast.reproduce.probe_features import TASK as FEATURES
from holdfast.reproduce.probe_growth import TASK as PROPOSITIONS
from holdfast.reproduce.published import Number
from holdfast.reproduce.recipe import Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source


@dataclass(frozen=True)
class Entry:
    """One place of a table."""

    row: str
    column: str
    unit: str
    published: Number | None = None
    measured: Value | None = None
    planned: bool = False
    """Whether this budget means to measure it."""
    computed: bool = False
    """Whether it follows from a formula, without any run."""

    @property
    def missing(self) -> bool:
        """Whether it is still to be measured."""
        return self.planned and self.measured is None


@dataclass(frozen=True)
class Grid:
    """A table of entries."""

    title: str
    entries: tuple[Entry, ...]
    main: bool = True
    """Whether it is the paper's own table; else its title tells what it is."""

    @property
    def rows(self) -> list[str]:
        """Names of the rows, in order."""
        return list(dict.fromkeys(entry.row for entry in self.entries))

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(dict.fromkeys(entry.column for entry in self.entries))

    def at(self, row: str, column: str) -> Entry | None:
        """Return the entry at a place; none: the table has nothing there."""
        found = (e for e in self.entries if (e.row, e.column) == (row, column))
        return next(found, None)


@dataclass(frozen=True)
class Result:
    """What a reproduction has given so far."""

    reproduction: Reproduction
    setting: Setting
    grids: tuple[Grid, ...]
    differences: tuple[str, ...]
    """Sentences: where model, data, protocol or attacks are not the paper's."""
    cells: int
    done: int
    """Cells of which all is measured that this table asks; others may have some numbers."""
    missing: int
    """Rows whose numbers are not all there."""
    failed: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is doubtful about the published numbers."""
        found = []
        for note in self.reproduction.published.notes:
            about = ", ".join(part for part in (note.row, note.column) if part)
            found.append(f"{about}: {note.text}" if about else note.text)
        return tuple(found)


def result_of(
    reproduction: Reproduction,
    setting: Setting,
    failed: Sequence[str] = (),
) -> Result:
    """Make the tables from whatever records are there."""
    cells = reproduction.cells(setting)
    shelf = Shelf.of_cells(setting.output / "records", cells)
    grids = grids_of(reproduction, setting, shelf)
    shown = [source for place in reproduction.places(setting) for source in _sources(place)]
    different = distinct(cells)
    lacking = {e.row for grid in grids for e in grid.entries if e.missing}
    return Result(
        reproduction=reproduction,
        setting=setting,
        grids=grids,
        differences=(*differences(reproduction, setting, cells), *shelf.attacks_apart(shown)),
        cells=len(different),
        done=sum(is_done(setting, cell) for cell in different),
        missing=len(lacking),
        failed=tuple(failed),
    )


def grids_of(reproduction: Reproduction, setting: Setting, shelf: Shelf) -> tuple[Grid, ...]:
    """Return the tables that the records of a shelf fill."""
    cells, places = reproduction.cells(setting), reproduction.places(setting)
    return tuple(
        grid
        for title in dict.fromkeys(["", *(place.table for place in places)])
        if (grid := _grid(title, reproduction, places, shelf, cells)).entries
    )


def _grid(
    title: str,
    reproduction: Reproduction,
    places: Sequence[Place],
    shelf: Shelf,
    cells: Sequence[Cell],
) -> Grid:
    shown = [place for place in places if place.table == title]
    entries = [_entry(place, reproduction, shelf, cells, main=not title) for place in shown]
    kept = [e for e in entries if e.published or e.measured or e.planned]
    if not title:
        kept = _in_order([*kept, *_unplaced(reproduction, entries)], reproduction)
    return Grid(title or reproduction.published.title, tuple(kept), main=not title)


def _entry(
    place: Place, reproduction: Reproduction, shelf: Shelf, cells: Sequence[Cell], *, main: bool
) -> Entry:
    known = reproduction.published.number(place.row, place.column) if main else None
    sources = _sources(place)
    planned = bool(sources) and all(measured_by(source, cells) for source in sources)
    value, computed = shelf.fill(place), place.computed is not None
    return Entry(place.row, place.column, place.unit, known, value, planned, computed)


def _sources(place: Place) -> list[Source]:
    return [*place.sources, *(source for other in place.of for source in other.sources)]


def measured_by(source: Source, cells: Sequence[Cell]) -> bool:
    """Whether some of the cells mean to measure a source; a total needs all of its tasks."""
    own = [cell for cell in cells if cell.row == source.row]
    if source.task == ADVGLUE:
        return {cell.measure.task for cell in own if cell.measure.advglue} >= set(TASKS)
    return any(_measures(cell, source) for cell in own)


def _measures(cell: Cell, source: Source) -> bool:
    measure = cell.measure
    kind, _, part = source.task.partition("/")
    if kind == ADVGLUE:
        return measure.advglue and part in parts(measure.task)
    if kind in PROBES:
        return PROBES[kind] in measure.probes and part in ("", measure.task)
    known = source.attack is None or source.attack in measure.attacks_run
    return source.task == measure.task and known


ADVGLUE = "advglue"
PROBES = {FEATURES: "features", PROPOSITIONS: "growth", COST: "cost"}
"""What records name as their task to the probe that writes them."""


def _unplaced(reproduction: Reproduction, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what the paper prints and nothing here can fill: another model's columns."""
    placed = {(entry.row, entry.column) for entry in entries}
    for number in reproduction.published.numbers:
        if (number.row, number.column) not in placed:
            yield Entry(number.row, number.column, number.unit, number)


def _in_order(entries: Sequence[Entry], reproduction: Reproduction) -> list[Entry]:
    """Return entries in the paper's order, then what it does not have."""
    rows, columns = reproduction.published.rows, reproduction.published.columns

    def place(entry: Entry) -> tuple[int, int]:
        row = rows.index(entry.row) if entry.row in rows else len(rows)
        column = columns.index(entry.column) if entry.column in columns else len(columns)
        return row, column

    return sorted(entries, key=place)
