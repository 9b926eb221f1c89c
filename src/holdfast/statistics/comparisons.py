"""Two models or many on the same examples: which is better, and is that more than chance?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.errors import InputError
from holdfast.statistics.bootstrap import REPEATS, difference
from holdfast.statistics.comparison import Comparison
from holdfast.statistics.holm import holm
from holdfast.statistics.marks import require_same_examples
from holdfast.statistics.mcnemar import mcnemar


def compare(
    first: str,
    second: str,
    a: Sequence[str],
    b: Sequence[str],
    *,
    measured_on: tuple[str, str] | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
) -> Comparison:
    """Compare two models by their marks `a` and `b`: a text of 1 and 0 for each training seed.

    One seed each: p is McNemar's. More: it is Student's, with the spread of the interval's draws.
    `measured_on` says what the marks of each are about; where that differs they are refused.
    """
    if measured_on is not None and measured_on[0] != measured_on[1]:
        raise InputError(
            f"{first} was measured on {measured_on[0]} and {second} on {measured_on[1]}; only "
            "models that were measured on the same examples can be compared."
        )
    examples = require_same_examples(first, second, a, b)
    found, p = difference(a, b, repeats=repeats, seed=seed)
    if len(a) == len(b) == 1:
        p = mcnemar(a[0], b[0])
    p = max(p, min(1.0, 2 * 0.5 ** _tipped(a, b)))  # no test can make more of so few examples
    return Comparison(first, second, found, p, min(len(a), len(b)), examples)


def _tipped(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many examples one model gets right more often; the others say nothing."""
    columns = zip(zip(*a, strict=True), zip(*b, strict=True), strict=True)
    return sum(x.count("1") * len(b) != y.count("1") * len(a) for x, y in columns)


def compare_all(
    marks: Mapping[str, Sequence[str]],
    against: str,
    *,
    measured_on: Mapping[str, str] | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
) -> list[Comparison]:
    """Compare every other model with `against`; the p-values are corrected for their number."""
    if against not in marks:
        known = ", ".join(marks) or "there is none"
        raise InputError(f"There is no model {against!r} to compare with; choose one of: {known}.")
    told = measured_on or dict.fromkeys(marks, "")
    found = [
        compare(
            name,
            against,
            own,
            marks[against],
            measured_on=(told[name], told[against]),
            repeats=repeats,
            seed=seed,
        )
        for name, own in marks.items()
        if name != against
    ]
    corrected = holm([comparison.p for comparison in found])
    return [
        replace(comparison, p=p, corrected_for=len(found))
        for comparison, p in zip(found, corrected, strict=True)
    ]
