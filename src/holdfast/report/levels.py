"""AdvGLUE by level: rows made by changing words, by rewriting sentences, by people."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from holdfast.record.run_record import no_better_than_majority
from holdfast.report.cells import Cells
from holdfast.report.columns import part_order
from holdfast.report.content import Block, Cell, Figure, Row, Section, Table
from holdfast.report.numbers import NO_BETTER, interval, joined, percent
from holdfast.report.scores import ADVGLUE, Column, Score
from holdfast.report.sketch import INK, shown_name, sketch, style_of
from holdfast.statistics import Interval, independent, wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = ("word", "sentence", "human")
MOST_FIGURES, MOST_MODELS = 7, 6
HATCHES = ("", "//", "\\\\", "||", "--", "xx")


@dataclass(frozen=True)
class Bar:
    """The share of one model on the rows of one level, with its interval."""

    value: float
    low: float
    high: float
    majority: float | None
    rows: int


Bars = Mapping[tuple[str, str], Bar]
"""Of model and level."""


def levels(cells: Cells, hues: Mapping[str, int]) -> Section | None:
    """Return a figure over all tasks together, and one for each."""
    columns = [c for c in cells.columns if c.task.startswith(f"{ADVGLUE}/")]
    columns = [c for c in columns if c.metric == "accuracy" and c.group in LEVELS]
    tasks = sorted(dict.fromkeys(column.task for column in columns), key=part_order)
    parts = [
        (task.replace(f"{ADVGLUE}/", "AdvGLUE "), [c for c in columns if c.task == task])
        for task in tasks
    ]
    whole = [("AdvGLUE, all tasks", columns)] if len(tasks) > 1 else []
    figures: list[Block] = [
        _figure(name, bars, cells.models, hues, _left_out(cells, members, bars))
        for name, members in [*whole, *parts][:MOST_FIGURES]
        if (bars := _bars(cells, members))
    ]
    if not figures:
        return None
    lead = (
        "Accuracy on AdvGLUE's rows by how they were made. The thick line across a group of bars "
        "is what always answering the majority class scores on the same rows."
    )
    return Section("levels", "By level of the attack", lead, tuple(figures))


def _bars(cells: Cells, columns: Sequence[Column]) -> dict[tuple[str, str], Bar]:
    """Pool the rows of the tasks; of several trainings the mean.

    A model that lacks a task has no bar: beside the others it would stand on easier or harder rows.
    """
    found: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for column in columns:
        for model, score in cells.scores(column).items():
            if score.examples:
                found[model, column.group].append(score)
    tasks = Counter(column.group for column in columns)
    return {
        (model, level): _pooled(parts)
        for (model, level), parts in found.items()
        if len(parts) == tasks[level]
    }


def _left_out(cells: Cells, columns: Sequence[Column], bars: Bars) -> list[str]:
    """Return the models that were measured on a part of some level alone, and have no bar there."""
    return [
        model
        for model in cells.models
        if any(cells.score(model, c) and (model, c.group) not in bars for c in columns)
    ]


def _pooled(parts: Sequence[Score]) -> Bar:
    """Take tasks together by their rows; each has models of its own."""
    counts = [part.examples or 0 for part in parts]
    rows = sum(counts)
    found = independent([*map(_interval, parts)], counts).within(0, 1)
    known = [part.majority for part in parts if part.majority is not None]
    whole = len(known) == len(parts)
    majority = sum(m * n for m, n in zip(known, counts, strict=True)) / rows if whole else None
    return Bar(found.value, found.low, found.high, majority, rows)


def _interval(part: Score) -> Interval:
    """Return what the records give; without marks, what so many rows of one training leave open."""
    low, high = part.low, part.high
    if low is None or high is None:
        rows = part.examples or 0
        low, high = wilson(round(part.value * rows), rows)
    return Interval(part.value, low, high)


def _figure(
    name: str, bars: Bars, models: Sequence[str], hues: Mapping[str, int], left_out: list[str]
) -> Figure:
    present = [m for m in models if any((m, level) in bars for level in LEVELS)]
    shown = [level for level in LEVELS if any((m, level) in bars for m in present)]
    title = f"{name}: accuracy by level"
    told = (f"{m}, {level}: {percent(b.value)}" for (m, level), b in bars.items() if m in present)
    description = f"Bars by level, one for each model. {'; '.join(list(told)[:24])}."
    drawn = present[:MOST_MODELS]
    height = 0.6 + 0.22 * len(shown) * (len(drawn) + 1)
    panel = partial(_panel, bars=bars, models=drawn, levels=shown, hues=hues)
    drawing = sketch(title, description, panel, height)
    note = "Intervals are of the mean over trainings; without marks, of the rows of one."
    if len(drawn) < len(present):
        note += f" Drawn are the first {len(drawn)} of {len(present)} models."
    if left_out:
        note += f" Left out where they lack a task or its number of rows: {joined(left_out)}."
    return Figure(f"levels-{name}", drawing, _numbers(title, bars, present, shown), note)


def _panel(
    axes: "Axes",
    bars: Bars,
    models: Sequence[str],
    levels: Sequence[str],
    hues: Mapping[str, int],
) -> None:
    width = 0.8 / len(models)
    for index, model in enumerate(models):
        known = [(at, bars[model, lv]) for at, lv in enumerate(levels) if (model, lv) in bars]
        places = [at - 0.4 + width * (index + 0.5) for at, _ in known]
        values = [100 * bar.value for _, bar in known]
        reach = [
            [100 * (b.value - b.low) for _, b in known],
            [100 * (b.high - b.value) for _, b in known],
        ]
        hue = hues.get(model, index)
        axes.barh(
            places,
            values,
            width * 0.92,
            label=shown_name(model),
            color=style_of(hue).color,
            edgecolor=INK,
            linewidth=0.4,
            hatch=HATCHES[hue % len(HATCHES)],
            xerr=reach,
            error_kw={"elinewidth": 0.9, "ecolor": INK},
        )
    for at, level in enumerate(levels):
        told = [bars[m, level].majority for m in models if (m, level) in bars]
        if shares := [share for share in told if share is not None]:
            axes.plot([100 * shares[0]] * 2, [at - 0.45, at + 0.45], color=INK, linewidth=2.2)
    axes.set_yticks(range(len(levels)), levels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 100)
    axes.set_xlabel("accuracy, %")


def _numbers(title: str, bars: Bars, models: Sequence[str], levels: Sequence[str]) -> Table:
    rows = [Row(Cell(m), tuple(_cell(bars.get((m, level))) for level in levels)) for m in models]
    known = [[b.majority for (_, lv), b in bars.items() if lv == level] for level in levels]
    shares = [next((s for s in column if s is not None), None) for column in known]
    baseline = tuple(Cell("") if s is None else Cell(percent(s)) for s in shares)
    rows.append(Row(Cell("always the majority class"), baseline, "baseline"))
    counts = [max(b.rows for (_, lv), b in bars.items() if lv == level) for level in levels]
    head = [
        Cell(level, detail=f"{count:,} rows") for level, count in zip(levels, counts, strict=True)
    ]
    return Table(f"{title}, in percent", (Cell("model"), *head), tuple(rows))


def _cell(bar: Bar | None) -> Cell:
    if bar is None:
        return Cell("")
    flag = NO_BETTER if no_better_than_majority(bar.value, bar.majority) else ""
    return Cell(percent(bar.value), interval(bar.low, bar.high), flag=flag)
