"""Which columns there are, in which order, and what stands above each."""

from collections.abc import Iterable

from holdfast.record.attacks import settings_in, with_settings
from holdfast.report.cells import Cells
from holdfast.report.scores import ADVGLUE, Column

ADAPTIVE = {
    "white_box_accuracy": "white box",
    "hull_accuracy": "convex hull",
    "transfer_accuracy": "transferred texts",
}
"""Metrics of the adaptive check, and the heads of their columns."""
CERTIFIED = "certified_accuracy"
SMALL_GENETIC = "small_genetic"
"""Group of the adaptive check's search by questions alone, which may leave the least of all."""
TOTALS = {"plain_mean": "plain mean", "official_score": "official score"}
PARTS = ("sst2", "qqp", "mnli", "mnli-mm", "qnli", "rte")
"""Tasks of AdvGLUE, as its authors order them."""


def base_tasks(columns: Iterable[Column]) -> list[str]:
    """Return the tasks that have a table of their own, in their order; AdvGLUE's have none."""
    names = dict.fromkeys(column.task for column in columns)
    return [name for name in names if name != ADVGLUE and not name.startswith(f"{ADVGLUE}/")]


def _part(column: Column) -> str:
    """Return the task of AdvGLUE that a column is about, or nothing."""
    inside = column.task.startswith(f"{ADVGLUE}/") or column.task == ADVGLUE
    return column.task.removeprefix(f"{ADVGLUE}/") if inside else ""


def all_columns(cells: Cells) -> list[Column]:
    """Return the columns of all tables, each once."""
    tasks = (task_columns(cells, task) for task in base_tasks(cells.columns))
    found = [column for columns in tasks for column in columns]
    whole = (advglue_columns(cells, metric) for metric in ("accuracy", "paired_accuracy"))
    return list(dict.fromkeys([*found, *(column for columns in whole for column in columns)]))


def task_columns(cells: Cells, task: str) -> list[Column]:
    """Return the columns of a task: clean, under each attack, adaptive, AdvGLUE."""
    own = [c for c in cells.columns if c.task == task and not c.group]
    clean = [c for c in own if c.attack is None and c.metric in ("accuracy", "f1", "glue")]
    if not clean:  # attacks tell the accuracy before them
        clean = [c for c in own if c.metric == "accuracy"][:1]
    attacked = [
        column
        for under in own
        if under.metric == "accuracy_under_attack"
        for column in (under, under._replace(metric=CERTIFIED))
        if column in own
    ]
    adaptive = [c for c in own if c.metric in ADAPTIVE]
    adaptive += [c for c in cells.columns if c.task == task and c.group == SMALL_GENETIC]
    advglue = [
        column
        for metric in ("accuracy", "paired_accuracy")
        for column in advglue_columns(cells, metric)
        if _part(column).removesuffix("-mm") == task
    ]
    return [*clean, *attacked, *adaptive, *advglue]


def advglue_columns(cells: Cells, metric: str) -> list[Column]:
    """Return AdvGLUE's tasks in their order, and of accuracies the totals."""
    own = [c for c in cells.columns if _part(c) and not c.group]
    parts = [c for c in own if c.metric == metric and _part(c) != ADVGLUE]
    parts.sort(key=lambda column: part_order(column.task))
    return [*parts, *(c for c in own if c.metric in TOTALS and metric == "accuracy")]


def part_order(task: str) -> int:
    """Return the place of a task of AdvGLUE among its six."""
    name = task.removeprefix(f"{ADVGLUE}/")
    return PARTS.index(name) if name in PARTS else len(PARTS)


def heading(column: Column) -> str:
    """Return what stands above a column."""
    if column.group == SMALL_GENETIC:
        return with_settings("small genetic", settings_in(column.attack))
    if column.group:
        return f"{column.group} {column.metric}".replace("_", " ")
    if column.metric in ADAPTIVE:
        return with_settings(ADAPTIVE[column.metric], settings_in(column.attack))
    if column.metric in TOTALS:
        return TOTALS[column.metric]
    if _part(column):
        both = ", both right" if column.metric == "paired_accuracy" else ""
        return f"AdvGLUE {_part(column)}{both}"
    if column.metric == "accuracy_under_attack":
        return f"under {column.attack}"
    if column.metric == CERTIFIED:
        return f"certified, {column.attack}"
    return "clean" if column.metric == "accuracy" else f"clean, {column.metric}"


def full_heading(column: Column) -> str:
    """Return what a column measures where no table stands around it."""
    name = heading(column)
    return name if "AdvGLUE" in name else f"{column.task.replace(ADVGLUE, 'AdvGLUE')} {name}"
