"""Sentences that differ in nothing but their figures, told as one: `leaves 2.0 to 3.5 %`.

Records of many seeds say the same thing with other numbers. One line says it once, with the lowest
and the highest of each figure.
"""

import re
from collections.abc import Iterable

_FIGURE = re.compile(r"(?<![\w.,(-])\d+(?:\.\d+)?(?![\w-]|[.,]\w)")
"""A number by itself; what stands in brackets is a name, as that of a class, and has no range."""


def skeleton(text: str) -> str:
    """Return a sentence without its figures: equal for those that can be told as one."""
    return _FIGURE.sub("\0", text)  # which no text has: a sign that it has would be taken for one


def told_once(texts: Iterable[str]) -> str:
    """Return sentences of one skeleton as one; all figures of one sentence belong together no more.

    >>> told_once(["3 of 8 fell: 37.5 %.", "5 of 8 fell: 62.5 %."])
    '3 to 5 of 8 fell: 37.5 to 62.5 %.'
    """
    known = list(dict.fromkeys(texts))
    ranges = map(_range, zip(*map(_FIGURE.findall, known), strict=True))
    return _FIGURE.sub(lambda _: next(ranges), known[0])


def _range(figures: tuple[str, ...]) -> str:
    low, high = min(figures, key=float), max(figures, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
