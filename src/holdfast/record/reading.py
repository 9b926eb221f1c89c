"""Records to files and back."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.record.codec import decode, encode
from holdfast.record.collection import SUFFIX, lines_of
from holdfast.record.contradictions import contradictions
from holdfast.record.files import write_atomically
from holdfast.record.run_record import FORMAT, RunRecord
from holdfast.record.training import SCHEMA, training_record

_OBJECTS = ("config", "marks", "checksums", "seeds", "environment")
"""Fields of free names, which `decode` takes as they are."""


def write_record(record: RunRecord, path: Path) -> Path:
    """Write a record, entirely or not at all, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"record": FORMAT, **encode(record)}
    write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def read_record(path: Path) -> RunRecord:
    """Read a record of any format that was ever written; one that contradicts itself is refused."""
    return _believed(path, _read_text(path, _text_of(path)))


def read_collection(path: Path) -> list[RunRecord]:
    """Read the records of one file of many."""
    return [_believed(path, _read_text(path, line)) for line in lines_of(path)]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path} is no record: it is not JSON ({error}).") from error


def _read_text(path: Path, text: str) -> RunRecord:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no record: it is not JSON ({error}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is no record: expected a JSON object.")
    if "record" in content:
        return _read_record(path, content)
    if "schema" in content:
        return _read_training(path, content)
    raise InputError(
        f"{path} is no record: it names no format; give what `holdfast train` or `holdfast "
        "evaluate` wrote."
    )


def _read_record(path: Path, content: dict[str, Any]) -> RunRecord:
    if content["record"] != FORMAT:
        raise InputError(
            f"{path} is a record of format {content['record']!r} and this version of Holdfast "
            f"reads up to {FORMAT}; read it with a newer version."
        )
    for name in _OBJECTS:
        if not isinstance(content.get(name, {}), dict):
            raise InputError(f"{path}.{name} is {content[name]!r}; expected a JSON object.")
    fields = {name: value for name, value in content.items() if name != "record"}
    found: RunRecord = decode(RunRecord, fields, where=str(path))
    return found


def _read_training(path: Path, content: dict[str, Any]) -> RunRecord:
    if content["schema"] != SCHEMA:
        raise InputError(
            f"{path} is a training record of schema {content['schema']!r} and this version of "
            f"Holdfast reads {SCHEMA}; read it with a newer version."
        )
    return training_record(content, path)


def _believed(path: Path, record: RunRecord) -> RunRecord:
    if doubt := _doubt(path, record):
        raise InputError(doubt)
    return record


def _doubt(path: Path, record: RunRecord) -> str:
    """Return where a record contradicts itself, as a sentence; empty: nowhere."""
    told = next(contradictions(record), "")
    return told and (
        f"{path} contradicts itself ({record.model}, {record.task}): {told}. It was edited or "
        "damaged; restore it, or remove it and measure again."
    )


@dataclass(frozen=True)
class Found:
    """The records of some files and folders, and what could not be read."""

    records: tuple[tuple[Path, RunRecord], ...]
    """Each with its file, beside which its outcomes lie."""
    problems: tuple[str, ...]
    """A sentence for each file that is no readable record, and for each record that contradicts
    itself; the others are unharmed."""


def find_records(places: Iterable[Path]) -> Found:
    """Read the records of files and folders, each file once; folders are searched to the bottom."""
    records, problems = [], []
    once: dict[Path, Path] = {}
    for path in _files(places):
        once.setdefault(path.resolve(), path)
    for path in once.values():
        try:
            texts = lines_of(path) if path.name.endswith(SUFFIX) else [_text_of(path)]
            found = [_read_text(path, text) for text in texts]
        except InputError as error:
            problems.append(str(error))
            continue
        doubts = [_doubt(path, record) for record in found]
        problems += filter(None, doubts)
        records += [(path, one) for one, doubt in zip(found, doubts, strict=True) if not doubt]
    return Found(tuple(records), tuple(problems))


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from (path for path in sorted(place.rglob("*.json")) if _is_record(path))
            yield from sorted(place.rglob(f"*{SUFFIX}"))
        elif place.exists():
            yield place
        else:
            raise InputError(f"There is no record at {place}; give a record or a folder of them.")


def _is_record(path: Path) -> bool:
    """Whether a JSON file in a folder is meant as a record: others lie beside checkpoints."""
    if not path.is_file():
        return False
    if path.name == "run.json":
        return True
    try:
        with path.open("rb") as file:
            return b'"record":' in file.read(64)
    except OSError:
        return True  # reading it says what is wrong
