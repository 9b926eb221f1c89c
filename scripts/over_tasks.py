"""Differences between two models over several tasks, each with trainings of its own.

Their mean over the tasks says more than any of them: tasks are trained independently, so what each
leaves open partly cancels. It is used by results.py for the tables of several tasks.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from scipy.stats import norm
from scipy.stats import t as student

from holdfast.evaluate.comparing import Finding
from holdfast.reproduce.joined import added, trained_task
from holdfast.statistics import Comparison, Interval, holm, independent

Cell = tuple[str, str]
"""A row of a table, and a column of it."""
UPPER = 0.975


def over_tasks(
    found: Iterable[Finding], column_of: Callable[[Finding], str]
) -> dict[Cell, Comparison]:
    """Return each model's difference in each column; a table of one task is left as it was found.

    A model that lacks something which another has in that column is left out of it.
    """
    cells: dict[Cell, dict[str, Comparison]] = {}
    wanted: dict[str, set[str]] = {}
    for one in found:
        column, task = column_of(one), one.group.task
        cells.setdefault((one.comparison.first, column), {})[task] = one.comparison
        wanted.setdefault(column, set()).add(task)
    whole = {cell: of for cell, of in cells.items() if set(of) == wanted[cell[1]]}
    if all(len(of) == 1 for of in whole.values()):
        return {cell: one for cell, of in whole.items() for one in of.values()}
    made = {cell: mean(by_training(of)) for cell, of in whole.items()}
    corrected = holm([comparison.p for comparison in made.values()])
    return {
        cell: dataclasses.replace(comparison, p=p, corrected_for=len(made))
        for (cell, comparison), p in zip(made.items(), corrected, strict=True)
    }


def by_training(of: Mapping[str, Comparison]) -> list[list[Comparison]]:
    """Return comparisons in groups whose models are the same: AdvGLUE's MNLI has two parts."""
    groups: dict[str, list[Comparison]] = {}
    for task, comparison in of.items():
        groups.setdefault(trained_task(task), []).append(comparison)
    return list(groups.values())


def mean(tasks: Sequence[Sequence[Comparison]]) -> Comparison:
    """Return the mean difference over tasks; parts of one task are answered by the same models."""
    parts = [added([part.difference for part in of], [1.0] * len(of)) for of in tasks]
    seeds = [min(part.seeds for part in of) for of in tasks]
    difference = independent(parts, [1.0] * len(parts))
    return dataclasses.replace(
        tasks[0][0],
        difference=difference,
        p=max(normal_chance(difference), welch_chance(parts, seeds)),
        seeds=min(seeds),
        examples=sum(part.examples for of in tasks for part in of),
    )


def normal_chance(difference: Interval) -> float:
    """Return p of a difference with normal errors, whose spread its 95 % interval tells."""
    spread = reach(difference) / float(norm.ppf(UPPER))
    return 2 * float(norm.sf(abs(difference.value) / spread)) if spread else 1.0


def welch_chance(parts: Sequence[Interval], seeds: Sequence[int]) -> float:
    """Return p of the parts' mean by Student's distribution, with Welch's degrees of freedom.

    The normal one is too kind where a single task, of few seeds, has nearly all of the spread. All
    of a part's spread is taken for that of its seeds; beside the other chance this one is a guard.
    """
    freedom = [max(1, count - 1) for count in seeds]
    pairs = list(zip(parts, freedom, strict=True))
    squares = [(reach(part) / float(student.ppf(UPPER, df))) ** 2 for part, df in pairs]
    if not (whole := sum(squares)):
        return 1.0
    df = whole**2 / sum(square**2 / own for square, own in zip(squares, freedom, strict=True))
    value = sum(part.value for part in parts)
    return 2 * float(student.sf(abs(value) / math.sqrt(whole), df))


def reach(interval: Interval) -> float:
    """Return how far an interval reaches from its middle, to the side where it reaches further."""
    return max(interval.value - interval.low, interval.high - interval.value)
