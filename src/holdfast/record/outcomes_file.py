"""Outcomes of an attack as the file holds them: a header, then one JSON object a line; no torch."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from holdfast.errors import InputError
from holdfast.record.outcome import Outcome
from holdfast.record.run_record import RunRecord

FORMAT = 1
"""Of the header that attacks write."""


@dataclass
class OutcomesFile:
    """The file at `path`, plain or gzipped; read line by line, and only ids are kept."""

    path: Path
    torn: bool = field(default=False, init=False)
    """Whether the last reading ended before all the outcomes that the header promises; those that
    were read are good."""
    _cut: bool = field(default=False, init=False, repr=False)

    def header(self) -> dict[str, Any]:
        """Return what the first line says of the attack, the victim and the data."""
        with self._open() as file:
            return self._header(next(self._lines(file), b""))

    def belongs_to(self, record: RunRecord) -> bool:
        """Whether it is what the record was made of; records of earlier versions do not say."""
        known = record.checksums.get("outcomes")
        return known is None or known == self._sha256()

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes; `torn` then says whether the file ends too early.

        More than the header promises, or two of one example, are refused: all would be counted.
        """
        self.torn = True
        number, ids = 1, set[str]()
        with self._open() as file:
            lines = self._lines(file)
            first = next(lines, None)
            if first is None:
                return  # cut off in its header, or before
            promised = self._header(first).get("examples")
            for number, line in enumerate(lines, start=2):
                outcome = self._outcome(line, number)
                self._require_new(outcome, number, ids, promised)
                yield outcome
        missing = isinstance(promised, int) and number <= promised
        self.torn = self._cut or missing

    def _lines(self, file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
        """Yield the whole lines; what is cut off ends them."""
        self._cut = False
        try:
            for line in file:
                if not line.endswith(b"\n"):
                    self._cut = True
                    return
                yield line
        except EOFError:  # the end of a gzipped file is missing
            self._cut = True
        except (OSError, zlib.error) as error:
            raise InputError(f"{self.path} cannot be read ({error}).") from error

    def _header(self, first: bytes) -> dict[str, Any]:
        try:
            found = json.loads(first)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or "outcomes" not in found:
            raise InputError(f"{self.path} is no file of outcomes: its first line is no header.")
        if found["outcomes"] != FORMAT:
            raise InputError(
                f"{self.path} holds outcomes of format {found['outcomes']!r} and this version of "
                f"Holdfast reads {FORMAT}; read it with a newer version."
            )
        return found

    def _outcome(self, line: bytes, number: int) -> Outcome:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number} of {self.path} is not JSON ({error}).") from error
        try:
            return Outcome.from_json(found)
        except InputError as error:
            raise InputError(f"Line {number} of {self.path}: {error}") from error

    def _require_new(self, outcome: Outcome, number: int, ids: set[str], promised: Any) -> None:
        """Refuse an outcome that is one too many; `ids` are those of the lines before."""
        if isinstance(promised, int) and number > promised + 1:
            raise InputError(
                f"{self.path} promises {promised} outcomes and holds more; it was changed since it "
                "was written: attack again."
            )
        own = repr(outcome.id)  # files of other making may have anything for an id
        if own in ids:
            raise InputError(
                f"Line {number} of {self.path} is a second outcome of the example {outcome.id}; "
                "expected one of each: attack again."
            )
        ids.add(own)

    def _sha256(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _open(self) -> IO[bytes] | gzip.GzipFile:
        try:
            if self.path.suffix == ".gz":
                return gzip.open(self.path, "rb")
            return self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror}).") from error
