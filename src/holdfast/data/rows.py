"""Rows of a JSON lines, JSON, CSV or TSV file, each knowing where it stands.

The suffix says the format. CSV is quoted as in RFC 4180, so fields may hold commas and line
breaks. TSV is one row per line, as GLUE writes it: a quote is a character like any other, except
that a field wholly within quotes loses them. Only the standard library is used.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import InputError

_Record = tuple[str, Mapping[str, object], str | None]  # place, columns, place of their names

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv")

_OTHER_MARKS = (";", "\t", "|")  # that separate the columns of many a file called .csv
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_LARGEST_FIELD = 2**31 - 1  # the most that csv takes on every platform


@dataclass(frozen=True)
class Row:
    """One row: its number from 0, its place as a reader of the file counts, its columns."""

    number: int
    where: str
    values: Mapping[str, object]
    header: str | None = None
    """Where the columns are named, if that is not in the row itself."""


def read_rows(path: Path) -> list[Row]:
    """Read every row of a file, or say what is wrong with it and on which line."""
    _require_file(path)
    rows = [
        Row(number, f"{path}, {place}", values, header and f"{path}, {header}")
        for number, (place, values, header) in enumerate(_records(path))
    ]
    if not rows:
        raise InputError(f"{path} is empty or holds a header only; expected at least one row.")
    return rows


def column_names(path: Path) -> tuple[str, ...]:
    """Return the columns of a file as its first row has them."""
    _require_file(path)
    first = next(_records(path), None)
    return () if first is None else tuple(first[1])


def unnamed_columns(path: Path) -> int:
    """Return how many columns of a table have no name; of several its rows keep the last only."""
    fields = {".csv": _csv_fields, ".tsv": _tsv_fields}.get(path.suffix.lower())
    if fields is None:
        return 0
    _, header = next(fields(path), (0, list[str]()))
    return _names(header).count("")


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path} is not a file; pass the path of a file that exists.")


def separated_otherwise(names: Sequence[str]) -> str | None:
    """Say so where what stands as the only column are several; none: nothing tells."""
    if len(names) != 1:
        return None
    mark = next((mark for mark in _OTHER_MARKS if mark in names[0]), None)
    return mark and f"looks separated by {mark!r}: use commas in .csv and tabs in .tsv"


def _records(path: Path) -> Iterator[_Record]:
    match path.suffix.lower():
        case ".jsonl":
            return _json_lines(path)
        case ".json":
            return _json(path)
        case ".csv":
            return _table(path, _csv_fields(path))
        case ".tsv":
            return _table(path, _tsv_fields(path))
        case suffix:
            known = ", ".join(SUFFIXES)
            raise InputError(f"{path} ends in {suffix!r}; expected a file ending in {known}.")


def _lines(path: Path) -> Iterator[str]:
    """Yield lines with their ends as they are, which is how `csv` wants them."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, line in enumerate(file, start=1):
                if "\0" in line:
                    raise InputError(
                        f"{path}, line {number}: there is a NUL byte, so this is not plain text; "
                        "save the file again as UTF-8."
                    )
                yield line
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _not_utf8(path: Path) -> InputError:
    """Find the bad byte anew: the decoder counts from the start of its own buffer."""
    raw, offset = path.read_bytes(), 0
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start
    line = raw.count(b"\n", 0, offset) + 1
    return InputError(
        f"{path}, line {line}: byte 0x{raw[offset]:02x} at offset {offset} is not UTF-8; "
        "save the file again as UTF-8."
    )


def _table(path: Path, records: Iterator[tuple[int, list[str]]]) -> Iterator[_Record]:
    header: list[str] | None = None
    for line, fields in records:
        if header is None:
            header, named = _header(path, fields), f"line {line} (the header)"
        elif len(fields) != len(header):
            raise InputError(
                f"{path}, line {line}: the row has {len(fields)} fields and the header "
                f"{len(header)}; {_remedy(header)}."
            )
        else:
            yield f"line {line}", dict(zip(header, fields, strict=True)), named


def _remedy(header: list[str]) -> str:
    if otherwise := separated_otherwise(header):
        return f"it {otherwise}"
    return (
        "put a text that holds the separator or a line break into a .csv field in double quotes, "
        "or write .jsonl"
    )


def _header(path: Path, fields: list[str]) -> list[str]:
    names = _names(fields)
    # Unnamed columns, such as a table's index, can be many: nobody asks for them.
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise InputError(f"{path} has two columns named {twice[0]!r}; rename or remove one.")
    return names


def _names(fields: list[str]) -> list[str]:
    return [field.strip() for field in fields]


def _csv_fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    with _large_fields():
        reader = csv.reader(_lines(path), strict=True)
        while True:
            line = reader.line_num + 1  # where the row begins; it may end lines later
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise InputError(
                    f"{path}, line {line}: the row that starts here is not valid CSV ({error}); "
                    "close its double quotes, and write a quote inside a field twice."
                ) from None
            if fields:
                yield line, fields


@contextmanager
def _large_fields() -> Iterator[None]:
    """Lift csv's limit of 131,072 characters a field, which is global, while reading."""
    before = csv.field_size_limit(_LARGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _tsv_fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(_lines(path), start=1):
        if row := line.rstrip("\r\n"):
            yield number, [_unquoted(field) for field in row.split("\t")]


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if _QUOTED.fullmatch(field) else field


def _json_lines(path: Path) -> Iterator[_Record]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            place = f"line {number}"
            yield place, _object(path, place, _parse(path, place, line)), None


def _json(path: Path) -> Iterator[_Record]:
    """Read a list of objects, or JSON lines, which many files named .json are."""
    text = "".join(_lines(path))
    if not text.lstrip().startswith("["):
        yield from _json_lines(path)
        return
    for number, value in enumerate(_parse(path, "line 1", text), start=1):
        yield f"row {number}", _object(path, f"row {number}", value), None


def _parse(path: Path, place: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(
            f"{path}, {place}: not valid JSON ({reason}); "
            "write one object with the columns as names on each line."
        ) from None


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the name {name!r} appears twice in one object")
    return values


def _object(path: Path, place: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(
            f"{path}, {place}: expected a JSON object with the columns as names, "
            f"found {type(value).__name__}."
        )
    return value
