"""Differences between two models over several tasks, each with trainings of its own.

Their mean over the tasks says more than any of them: tasks are trained independently, so what each
leaves open partly cancels. It is used by results.py for the tables of several tasks.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

from holdfast.evaluate.comparing import Finding
from holdfast.reproduce.joined import added, independent, trained_task
from holdfast.statistics import Comparison, Interval, holm

Cell = tuple[str, str]
"""A row of a table, and a column of it."""
NORMAL = 1.96


def over_tasks(
    found: Iterable[Finding], column_of: Callable[[Finding], str]
) -> dict[Cell, Comparison]:
    """Return each model's difference in each column; of one task it is left as it was found.

    A model that lacks a task which another has in that column is left out of it.
    """
    cells: dict[Cell, dict[str, list[Comparison]]] = {}
    for one in found:
        tasks = cells.setdefault((one.comparison.first, column_of(one)), {})
        tasks.setdefault(trained_task(one.group.task), []).append(one.comparison)
    wanted: dict[str, set[str]] = {}
    for (_, column), tasks in cells.items():
        wanted.setdefault(column, set()).update(tasks)
    whole = {cell: tasks for cell, tasks in cells.items() if set(tasks) == wanted[cell[1]]}
    if all(sum(map(len, tasks.values())) == 1 for tasks in whole.values()):
        return {cell: of[0] for cell, tasks in whole.items() for of in tasks.values()}
    made = {cell: mean(list(tasks.values())) for cell, tasks in whole.items()}
    corrected = holm([comparison.p for comparison in made.values()])
    return {
        cell: dataclasses.replace(comparison, p=p, corrected_for=len(made))
        for (cell, comparison), p in zip(made.items(), corrected, strict=True)
    }


def mean(tasks: Sequence[Sequence[Comparison]]) -> Comparison:
    """Return the mean difference over tasks; parts of one task are answered by the same models."""
    parts = [added([part.difference for part in of], [1.0] * len(of)) for of in tasks]
    difference = independent(parts, [1.0] * len(parts))
    first = tasks[0][0]
    return dataclasses.replace(
        first,
        difference=difference,
        p=chance(difference),
        seeds=min(part.seeds for of in tasks for part in of),
        examples=sum(part.examples for of in tasks for part in of),
    )


def chance(difference: Interval) -> float:
    """Return p of a difference with normal errors, whose spread its 95 % interval tells."""
    towards_zero = difference.low if difference.value > 0 else difference.high
    reach = abs(difference.value - towards_zero)
    return math.erfc(NORMAL * abs(difference.value) / reach / math.sqrt(2)) if reach else 1.0
