"""From rows to examples, strictly: what cannot be trained on is a sentence, not a guess."""

import hashlib
import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.data.rows import Row, read_rows, separated_otherwise
from holdfast.data.task import Example, Task, label_codes
from holdfast.errors import InputError

_log = logging.getLogger(__name__)

MOST_NAMED = 12
"""Labels that a message lists."""
_WHOLE = re.compile(r"(-?\d+)\.0+")  # tables with gaps write whole numbers as 1.0
_FRACTION = re.compile(r"-?(?:\d*\.\d+(?:[eE][-+]?\d+)?|\d+[eE]-\d+)")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # json reads them; no tokenizer does
_MOST_LABELS = 1000
_FEW_LABELS = 20  # so many are fine in a file of any length


@dataclass(frozen=True)
class Source:
    """Where examples came from, for a run's record: `encode(source)` is its JSON.

    `sha256` is of the file's bytes; of examples from the Hub, of one JSON line for each.
    """

    where: str
    sha256: str
    rows: int
    dropped: int = 0


@dataclass(frozen=True)
class Split:
    """The examples of one split and where they came from."""

    examples: list[Example]
    source: Source


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(task: Task, path: Path, split: str) -> Split:
    """Read one file as a split of `task`; the file's suffix says its format."""
    rows = read_rows(path)
    examples = to_examples(task, split, rows)
    return Split(examples, source_of(path, examples, dropped=len(rows) - len(examples)))


def source_of(path: Path, examples: list[Example], *, dropped: int = 0) -> Source:
    """Describe the file that `examples` were read from."""
    return Source(path.as_posix(), checksum(path), len(examples), dropped)


def task_from_file(
    path: Path, texts: tuple[str, ...], label: str = "label"
) -> tuple[Task, list[Example]]:
    """Read a user's own file; its labels, sorted, become the codes 0, 1, 2 and so on.

    Whole numbers are sorted as numbers. Record the file with `source_of(path, examples)`, and read
    a second file with the same labels by `read_file(task, path, split)`.
    """
    rows = read_rows(path)
    labels = _find_labels(path, label, [_label(row, label) for row in rows])
    task = Task(path.stem, texts, labels, label=label, validation=None)
    return task, to_examples(task, task.train, rows)


def to_examples(task: Task, split: str, rows: Iterable[Row]) -> list[Example]:
    """Turn rows into examples, leaving out those without a gold label."""
    codes = label_codes(task)
    no_label = None if task.no_label is None else str(task.no_label)
    examples, unlabelled = [], 0
    own = task.hub is None
    for row in rows:
        name = _label(row, task.label, own=own)
        if name == no_label:
            unlabelled += 1
            continue
        texts = tuple(text_of(row, column, own=own) for column in task.texts)
        examples.append(Example(f"{split}:{row.number}", texts, _code(row, task, codes, name)))
    if not examples:
        raise InputError(f"No row of {task.name}, {split}, has a label; choose another split.")
    if unlabelled:
        _log.warning("%s, %s: left out %d rows without a label.", task.name, split, unlabelled)
    return examples


def check_two_classes(examples: Iterable[Example], what: str) -> None:
    """Refuse to train on examples that all have the same label."""
    labels = {example.label for example in examples}
    if len(labels) < 2:
        raise InputError(
            f"{what} holds one class only (label {min(labels, default=None)}); "
            "training needs at least two, so take more rows, another file or another seed."
        )


def _value(row: Row, column: str, setting: str | None) -> object:
    if column not in row.values:
        where = row.header or row.where
        raise InputError(f"{where}: there is no column {column!r}{_columns(row, setting)}.")
    return row.values[column]


def _columns(row: Row, setting: str | None) -> str:
    names = ", ".join(repr(name[:40]) for name in list(row.values)[:20])
    if otherwise := separated_otherwise(list(row.values)):
        return f", only {names}, which {otherwise}"
    if setting is None:
        return f", which the task has; the file has {names}"
    return f"; name one of {names} with --data.{setting} in training, else with --{setting}"


def text_of(row: Row, column: str, *, own: bool = True) -> str:
    """Return the text in a column, or say why no model could read it.

    A column of one's `own` file has the name that a setting gives, others that of their task.
    """
    value = _value(row, column, "texts" if own else None)
    if not isinstance(value, str):
        raise InputError(
            f"{row.where}: column {column!r} holds {value!r:.40}; expected text in quotes."
        )
    if not value.strip():
        raise InputError(
            f"{row.where}: the text in column {column!r} is empty; fill it in or remove the row."
        )
    if _HALF_CHARACTER.search(value):
        raise InputError(
            f"{row.where}: the text in column {column!r} holds half of a surrogate pair; "
            "write the whole character or remove it."
        )
    return value


def _label(row: Row, column: str, *, own: bool = True) -> str:
    """Return the label as a name: 1, "1", 1.0 and " 1 " are the same one."""
    value = _value(row, column, "label" if own else None)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or value != value:  # null and NaN are gaps
        raise InputError(
            f"{row.where}: the label in column {column!r} is {value!r:.40}; "
            "expected a name or a number."
        )
    name = str(value).strip()
    if not name:
        raise InputError(
            f"{row.where}: the label in column {column!r} is empty; fill it in or remove the row."
        )
    whole = _WHOLE.fullmatch(name)
    return whole[1] if whole else name


def _code(row: Row, task: Task, codes: dict[str, int], name: str) -> int:
    if name not in codes:
        raise InputError(
            f"{row.where}: the label {name[:40]!r} is none of the known ones, "
            f"{_known(task, codes)}; "
            "correct it or remove the row."
        )
    return codes[name]


def _known(task: Task, codes: dict[str, int]) -> str:
    """Return the labels and what may stand for them, as many as can be read."""
    numbers = [code for code in codes if code not in task.labels]
    names = _named(task.labels)
    return f"{names} (or their codes {_named(numbers)})" if numbers else names


def _named(labels: Sequence[str]) -> str:
    return ", ".join(labels if len(labels) <= MOST_NAMED else [*labels[:MOST_NAMED], "..."])


def _find_labels(path: Path, column: str, names: list[str]) -> tuple[str, ...]:
    found = set(names)
    fraction = next((name for name in names if _FRACTION.fullmatch(name)), None)
    if fraction is not None:
        raise InputError(
            f"{path}: the label column {column!r} holds fractions such as {fraction}, which is "
            "regression; Holdfast classifies, so name classes in that column."
        )
    if len(found) == 1:
        raise InputError(
            f"{path}: every row has the label {names[0][:40]!r} in column {column!r}; "
            "training needs at least two classes."
        )
    if len(found) > min(_MOST_LABELS, max(_FEW_LABELS, len(names) // 2)):
        raise InputError(
            f"{path}: column {column!r} holds {len(found)} labels in {len(names)} rows, "
            "too many to be classes; name the column that holds the class."
        )
    _warn_of_spellings(path, column, found)
    return tuple(sorted(found, key=_label_order))


def _warn_of_spellings(path: Path, column: str, labels: set[str]) -> None:
    """Say where one class may have been written in two ways; it may be meant, so no error."""
    spellings: dict[str, list[str]] = {}
    for name in sorted(labels):
        spellings.setdefault(name.lower(), []).append(name[:40])
    if twice := [" and ".join(names) for names in spellings.values() if len(names) > 1]:
        _log.warning(
            "%s: in column %r the labels %s differ in upper and lower case alone and count as "
            "different classes; write them alike if they are one.",
            path,
            column,
            _named(twice),
        )


def _label_order(name: str) -> tuple[bool, int, str]:
    whole = re.fullmatch(r"-?[0-9]{1,18}", name)
    return not whole, int(name) if whole else 0, name
