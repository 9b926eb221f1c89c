"""The rows of a file with what a model says of each, written as a file."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.data.rows import unnamed_columns
from holdfast.errors import InputError
from holdfast.record import refuse_file
from holdfast.record.files import written_atomically

LABEL, PROBABILITY, OF_EACH = "predicted", "probability", "probabilities"
SUFFIXES = (".csv", ".jsonl")
DIGITS = 6  # of a probability: more are rounding of the device

Columns = Mapping[str, object]


def check_output(path: Path, read: Path | None, rows: Sequence[Columns]) -> None:
    """Refuse, before a model is run, a file that cannot be written or would overwrite a column."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--output {path} ends in {path.suffix!r}; expected a file ending in "
            f"{' or '.join(SUFFIXES)}."
        )
    if read is not None and path.resolve() == read.resolve():
        raise InputError(f"--output {path} is the file that is read; name another.")
    for name in (LABEL, PROBABILITY, OF_EACH):
        if any(name in row for row in rows):
            raise InputError(
                f"{read} has a column {name!r} already, under which the answers would stand; "
                "rename it."
            )
    if read is not None and (unnamed := unnamed_columns(read)) > 1:
        raise InputError(
            f"{read} has {unnamed} columns without a name, of which one would be written; name "
            "them in its first line, or remove them."
        )
    if path.suffix.lower() == ".csv":
        _refuse_half_characters(path, rows)
    refuse_file(path)


def _refuse_half_characters(path: Path, rows: Sequence[Columns]) -> None:
    """Refuse what JSON can hold as an escape, and a table cannot."""
    for name, value in ((name, row[name]) for row in rows for name in row):
        try:
            f"{name}{_field(value)}".encode()
        except UnicodeEncodeError:
            raise InputError(
                f"The column {name!r} holds half of a surrogate pair, which --output {path} cannot "
                "hold; write the whole character, or name a file ending in .jsonl."
            ) from None


def write_labelled(
    path: Path, rows: Sequence[Columns], answers: Iterable[Mapping[str, Any] | None]
) -> None:
    """Write each row as it was read, its label and that label's probability behind it.

    JSON lines have the probability of every label, too. A row without an answer gets an empty one.
    """
    as_json = path.suffix.lower() == ".jsonl"
    found = (
        {**row, **_written(answer, as_json)} for row, answer in zip(rows, answers, strict=True)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_atomically(path) as file:
        if as_json:
            for row in found:
                file.write(_line(row))
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(text, [*names, LABEL, PROBABILITY])
        writer.writeheader()
        writer.writerows({name: _field(row[name]) for name in row} for row in found)
        text.detach()  # which flushes it; the file is closed by who opened it


def _line(row: Columns) -> bytes:
    """Return a row as a line of JSON; half of a character is kept as an escape, as it was read."""
    try:
        return (json.dumps(row, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(row) + "\n").encode()


def _written(answer: Mapping[str, Any] | None, as_json: bool) -> dict[str, Any]:
    """Return the columns of an answer."""
    if answer is None:
        return dict.fromkeys((LABEL, PROBABILITY, OF_EACH)) if as_json else {}
    found = {LABEL: answer["label"], PROBABILITY: round(answer["probability"], DIGITS)}
    return {**found, OF_EACH: _rounded(answer["probabilities"])} if as_json else found


def _rounded(probabilities: Mapping[str, float]) -> dict[str, float]:
    return {label: round(value, DIGITS) for label, value in probabilities.items()}


def _field(value: object) -> object:
    """Return a value of a JSON file as a field of a table; nothing is an empty one."""
    if value is None:
        return ""
    return value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
