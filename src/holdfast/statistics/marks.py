"""Marks: which examples a model got right, as text of a 1 or 0 each; one text for each seed."""

from collections.abc import Sequence

from holdfast.errors import InputError


def examples_of(marks: Sequence[str], name: str = "The marks") -> int:
    """Return how many examples the marks are about, or say why they are no marks."""
    if isinstance(marks, str):
        raise InputError(f"{name} are one text; expected a list with one text for each seed.")
    if not marks or not marks[0]:
        raise InputError(f"{name} are empty; expected a 1 or 0 for at least one example.")
    if len(lengths := sorted({len(row) for row in marks})) > 1:
        raise InputError(
            f"{name} are of {lengths[0]} examples for one seed and of {lengths[-1]} for another; "
            "only the same examples can be taken together."
        )
    if strange := sorted({mark for row in marks for mark in row} - {"0", "1"}):
        raise InputError(f"{name} hold {strange[0]!r}; expected a 1 or 0 for each example.")
    return len(marks[0])


def require_same_examples(first: str, second: str, a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many examples both have marks of; two that differ in it cannot be compared."""
    of_first = examples_of(a, f"The marks of {first}")
    of_second = examples_of(b, f"The marks of {second}")
    if of_first != of_second:
        raise InputError(
            f"{first} has marks of {of_first} examples and {second} of {of_second}; only models "
            "that were measured on the same examples can be compared: evaluate both on the same."
        )
    return of_first
