"""A text beside what an attack made of it, as pieces that are the same or differ.

Found by comparing the two texts, not taken from what the attack says it changed.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from holdfast.report.content import Piece

LONGEST = 900  # characters of a text that are shown; of longer ones what surrounds the changes
AROUND = 120  # characters kept on each side of a change
GAP = " […] "
AGREE, FARTHEST = 3, 40  # words that agree where texts meet again, and how far that is sought
_WORDS = re.compile(r"\w+(?:['’\-]\w+)*|\s+|[^\w\s]")  # noqa: RUF001 - both apostrophes, meant


def changed_text(old: str, new: str | None) -> tuple[Piece, ...]:
    """Return the pieces of `old` and what stands in their place in `new`; none: unchanged."""
    pieces = [Piece(old)] if new is None or new == old else list(_pieces(old, new))
    if sum(len(piece.old) for piece in pieces) <= LONGEST:
        return tuple(pieces)
    changed = any(piece.new is not None for piece in pieces)
    if not changed:
        return (Piece(_cut(old, LONGEST, 0)),)
    return tuple(_shortened(pieces))


def _pieces(old: str, new: str) -> Iterator[Piece]:
    """Go through both texts side by side; where they part, look for where they meet again.

    difflib would do, but takes the square of the length, and more of texts that repeat words.
    """
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    i = j = 0
    while i < len(before) or j < len(after):
        same = _same(before, after, i, j)
        if same:
            yield Piece("".join(before[i : i + same]))
            i, j = i + same, j + same
            continue
        a, b = _meeting(before, after, i, j)
        yield from _parted(before[i : i + a], after[j : j + b])
        i, j = i + a, j + b


def _same(before: Sequence[str], after: Sequence[str], i: int, j: int) -> int:
    """Return how many words are the same from here on."""
    pairs = zip(islice(before, i, None), islice(after, j, None), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _meeting(before: Sequence[str], after: Sequence[str], i: int, j: int) -> tuple[int, int]:
    """Return how far to go in each text until three words agree; to both ends if they never do."""
    for far in range(1, FARTHEST):
        for a in sorted(range(far + 1), key=lambda a: abs(2 * a - far)):
            ahead, there = i + a, j + far - a
            if ahead > len(before) or there > len(after):
                continue
            if before[ahead : ahead + AGREE] == after[there : there + AGREE]:
                return a, far - a
    return len(before) - i, len(after) - j


def _parted(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    """Yield what differs; where both have as many words, what is the same between them apart."""
    if len(before) != len(after):
        yield Piece("".join(before), "".join(after))
        return
    for old, new in zip(before, after, strict=True):
        yield Piece(old) if old == new else Piece(old, new)


def _shortened(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces with the long unchanged ones cut down to what lies beside a change."""
    for number, piece in enumerate(pieces):
        if piece.new is not None:
            yield piece
        else:
            head = 0 if number == 0 else AROUND
            tail = 0 if number == len(pieces) - 1 else AROUND
            yield Piece(_cut(piece.old, head, tail))


def _cut(text: str, head: int, tail: int) -> str:
    """Return the ends of a text, cut between words."""
    if len(text) <= head + tail + len(GAP):
        return text
    start = text[:head].rpartition(" ")[0] if head else ""
    end = text[-tail:].partition(" ")[2] if tail else ""
    return f"{start}{GAP}{end}"
