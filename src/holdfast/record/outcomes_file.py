"""Outcomes of an attack as the file holds them: a header, then one JSON object a line; no torch."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from holdfast.errors import InputError
from holdfast.record.outcome import Outcome


@dataclass
class OutcomesFile:
    """The file at `path`, plain or gzipped; read line by line, so its size does not matter."""

    path: Path
    torn: bool = field(default=False, init=False)
    """Whether the last reading ended in a line without its end; the lines before it are good."""

    def header(self) -> dict[str, Any]:
        """Return what the first line says of the attack, the victim and the data."""
        with self._open() as file:
            first = file.readline()
        try:
            found = json.loads(first)
        except ValueError:
            found = None
        if not isinstance(found, dict) or "outcomes" not in found:
            raise InputError(f"{self.path} is no file of outcomes: its first line is no header.")
        return found

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes; `torn` then says whether the file ends in the middle of one."""
        self.torn = False
        with self._open() as file:
            file.readline()
            for number, line in enumerate(file, start=2):
                if not line.endswith(b"\n"):
                    self.torn = True
                    return
                yield self._outcome(line, number)

    def _outcome(self, line: bytes, number: int) -> Outcome:
        try:
            return Outcome.from_json(json.loads(line))
        except ValueError as error:
            raise InputError(f"Line {number} of {self.path} is not JSON ({error}).") from error

    def _open(self) -> IO[bytes] | gzip.GzipFile:
        try:
            if self.path.suffix == ".gz":
                return gzip.open(self.path, "rb")
            return self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror}).") from error
