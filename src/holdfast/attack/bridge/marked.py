"""Texts with TextAttack's marks: `A [[great]] film` and `A [[fine]] film`.

A pair is written `[[[[Premise]]]]: one text<SPLIT>[[[[Hypothesis]]]]: the other`, its names
capitalised; within a text `<SPLIT>` stands for a line break. Chinese and Korean texts, and those
of a log that was asked for plain, have no marks at all.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from difflib import SequenceMatcher
from typing import NamedTuple

from holdfast.text import Word, split_words
from holdfast.victim import Change

SPLIT = "<SPLIT>"
_MARKED = re.compile(r"\[\[([^\[\]\s]+)\]\]")
_NAMED = re.compile(rf"(?:^|{SPLIT})\[\[\[\[([^\[\]]+)\]\]\]\]: ")


class Edit(NamedTuple):
    """What stands between two places of the original, and what took its place."""

    start: int
    end: int
    new: str


class Compared(NamedTuple):
    """A text before and after, without marks."""

    original: str
    perturbed: str
    edits: tuple[Edit, ...]


def column_names(text: str) -> tuple[str, ...]:
    """Return the names of the texts of a pair as they are written; none for a single text."""
    names = tuple(_NAMED.findall(text))
    return names if len(names) > 1 else ()


def split_columns(text: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the texts of a pair, marked still; None if it is not written like one."""
    if not names:
        return (text.replace(SPLIT, "\n"),)
    named = (rf"(?:\[\[\[\[)?{re.escape(name)}(?:\]\]\]\])?: (.*?)" for name in names)
    found = re.fullmatch(SPLIT.join(named), text, re.DOTALL)
    return None if found is None else tuple(part.replace(SPLIT, "\n") for part in found.groups())


def compare(original: str, perturbed: str) -> Compared:
    """Return both texts without marks, and where they differ."""
    before, after = _MARKED.split(original), _MARKED.split(perturbed)
    if before[::2] == after[::2]:
        return _word_for_word(before[::2], before[1::2], after[1::2])
    own = set(before[1::2]) & set(after[1::2])  # what differs is marked, so this was in brackets
    return _by_words(_unmarked(original, own), _unmarked(perturbed, own))


def _unmarked(text: str, own: Set[str]) -> str:
    return _MARKED.sub(lambda mark: mark[0] if mark[1] in own else mark[1], text)


def _word_for_word(around: list[str], old: list[str], new: list[str]) -> Compared:
    """Pair the marked words; one that stayed was never marked, its brackets are the text's own."""
    original = perturbed = around[0]
    edits = []
    for one, other, following in zip(old, new, around[1:], strict=True):
        if one == other:
            one = other = f"[[{one}]]"
        else:
            edits.append(Edit(len(original), len(original) + len(one), other))
        original, perturbed = original + one + following, perturbed + other + following
    return Compared(original, perturbed, tuple(edits))


def _by_words(original: str, perturbed: str) -> Compared:
    """Find what was put in, taken out or cut in two, which no marks can be paired for."""
    old, new = split_words(original), split_words(perturbed)
    same = SequenceMatcher(a=_spelt(old), b=_spelt(new), autojunk=False)
    edits: list[Edit] = []
    for kind, start, end, begin, stop in same.get_opcodes():
        if kind == "insert":
            edits.append(_inserted(old, start, perturbed, new, begin, stop))
        elif kind == "delete":
            edits += (Edit(word.start, word.end, "") for word in old[start:end])
        elif kind == "replace" and end - start == stop - begin:
            pairs = zip(old[start:end], new[begin:stop], strict=True)
            edits += (Edit(word.start, word.end, other.text) for word, other in pairs)
        elif kind == "replace":
            spelt = _span(perturbed, new, begin, stop)
            edits.append(Edit(old[start].start, old[end - 1].end, spelt))
    return Compared(original, perturbed, tuple(edits))


def _inserted(
    old: Sequence[Word], at: int, perturbed: str, new: Sequence[Word], begin: int, stop: int
) -> Edit:
    """Return an insertion as a change of the word before it; of the one after it at the start."""
    if not old:
        return Edit(0, 0, _span(perturbed, new, begin, stop))
    if at == 0:
        return Edit(old[0].start, old[0].end, _span(perturbed, new, begin, stop + 1))
    return Edit(old[at - 1].start, old[at - 1].end, _span(perturbed, new, begin - 1, stop))


def _spelt(words: Iterable[Word]) -> list[str]:
    return [word.text for word in words]


def _span(text: str, words: Sequence[Word], begin: int, stop: int) -> str:
    return text[words[begin].start : words[stop - 1].end]


def changes(number: int, compared: Compared) -> Iterator[Change]:
    """Yield the edits of text `number` as changes, each at the first of our words it touches."""
    ends = [word.end for word in split_words(compared.original)]
    for edit in compared.edits:
        old = compared.original[edit.start : edit.end]
        yield Change(number, bisect_right(ends, edit.start), old, edit.new)
