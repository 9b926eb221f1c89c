"""The interval of a mean over several numbers, some of them of the same trained models.

MNLI's two parts are answered by one model, and so are AdvGLUE's levels: a lucky seed is lucky in
all of them. Their marks are therefore joined, and seeds drawn for all together; where there are no
marks, what each leaves open adds up. Numbers of different trainings are independent.
"""

from collections.abc import Mapping, Sequence

from holdfast.reproduce.table import Source
from holdfast.statistics import Interval, bootstrap_shares

Marks = Mapping[int | None, str]
"""Seed of a training to its marks."""


def trained_for(source: Source) -> tuple[str, str]:
    """Return row and task of the models that a number is of."""
    return source.row, trained_task(source.task)


def trained_task(task: str) -> str:
    """Return the task that models were trained for: AdvGLUE's MNLI has two parts."""
    return task.rpartition("/")[2].removesuffix("-mm")


def joined(marks: Sequence[Marks], shares: Sequence[float]) -> Interval | None:
    """Return the mean of numbers of the same models, each with its share; none: it cannot be told.

    Each number varies about its own mean, by examples of its own: so the numbers' own differences
    do not count as chance.
    """
    seeds = [seed for seed in marks[0] if all(seed in of for of in marks)]
    if not seeds or any(len(of) > len(seeds) for of in marks):
        return None
    sizes = [len(of[seeds[0]]) for of in marks]
    means = [
        sum(of[s].count("1") for s in seeds) / (size * len(seeds))
        for of, size in zip(marks, sizes, strict=True)
    ]
    middle = sum(share * mean for share, mean in zip(shares, means, strict=True)) / sum(shares)
    parts = list(zip(marks, shares, sizes, means, strict=True))
    rows = []
    for seed in seeds:
        row: list[float] = []
        for of, share, size, mean in parts:
            weight = share / sum(shares) * sum(sizes) / size
            row += [middle + weight * (float(mark) - mean) for mark in of[seed]]
        rows.append(row)
    return bootstrap_shares(rows)


def added(parts: Sequence[Interval], shares: Sequence[float]) -> Interval:
    """Return the interval of a mean where nothing is known of how its parts hang together."""
    ends = [
        sum(share * getattr(part, end) for share, part in zip(shares, parts, strict=True))
        for end in ("value", "low", "high")
    ]
    return Interval(*(end / sum(shares) for end in ends))
