"""Many records in one file, gzipped JSON lines: how results are published.

Outcomes are left out: they hold the texts of the data sets, and a record tells without them which
examples were right.
"""

import dataclasses
import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record.codec import encode
from holdfast.record.files import write_atomically
from holdfast.record.run_record import FORMAT, RunRecord

SUFFIX = ".records.jsonl.gz"


def write_collection(records: Iterable[RunRecord], path: Path) -> Path:
    """Write records into one file; the same records give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [dataclasses.replace(record, outcomes=None) for record in records]
    lines = [json.dumps({"record": FORMAT, **encode(record)}) for record in kept]
    content = "".join(line + "\n" for line in lines).encode()
    write_atomically(path, gzip.compress(content, mtime=0))
    return path


def lines_of(path: Path) -> list[str]:
    """Return the records of a file as they stand in it, one a line."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as gzipped lines ({error}).") from error
