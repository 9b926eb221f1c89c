"""The output folder of a run: what is in it, and how it is written so that a kill does no harm.

config.json    what the run is, written first
log.jsonl      its loss curve
checkpoints/   where it can be resumed
model/         the best model: a plain checkpoint, connection.json, the tokenizer
run.json       the record, written last: the run is done
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import refuse_folder
from holdfast.train.checkpoint import (
    complete_checkpoints,
    discard_incomplete,
    draft_of,
    relocate,
    write_atomically,
)
from holdfast.train.identity import Json, differences


@dataclass(frozen=True)
class RunFolder:
    """The folder `path`, which holds one run or nothing."""

    path: Path

    @property
    def config(self) -> Path:
        """What the run is."""
        return self.path / "config.json"

    @property
    def log(self) -> Path:
        """The loss curve."""
        return self.path / "log.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Where the trainer writes."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The best model."""
        return self.path / "model"

    @property
    def record(self) -> Path:
        """The record of a finished run."""
        return self.path / "run.json"

    def refuse_another_run(self, identity: Json) -> None:
        """Raise unless the folder is new, or holds the run that `identity` describes."""
        if not self.record.is_file():  # else nothing is written any more
            refuse_folder(self.path)
        if self.config.is_file():
            if found := differences(_read(self.config), identity):
                raise InputError(
                    f"{self.path} holds another run: {'; '.join(found)}. Choose another output "
                    "folder, or the same settings."
                )
        elif foreign := self._foreign():
            raise InputError(
                f"{self.path} holds files that are not a run's, such as {foreign}; choose an empty "
                "or new output folder."
            )

    def _foreign(self) -> str | None:
        draft = draft_of(self.config).name  # a kill may have left it
        entries = self.path.iterdir() if self.path.is_dir() else ()
        return next((entry.name for entry in entries if entry.name != draft), None)

    def read_record(self) -> Json | None:
        """Return the record of a finished run."""
        return _read(self.record) if self.record.is_file() else None

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Leave nothing behind where a trainer makes its folder and then refuses to be made."""
        try:
            yield
        except InputError:
            with suppress(OSError):  # not there, or not empty: an earlier run's
                self.checkpoints.rmdir()
                self.path.rmdir()
            raise

    def begin(self, identity: Json) -> None:
        """Make the folder, or clear away what a killed run left half-written."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.config.is_file():
            write_json(self.config, identity)
        discard_incomplete(self.checkpoints)
        for found in complete_checkpoints(self.checkpoints):
            relocate(found)
        shutil.rmtree(draft_of(self.model), ignore_errors=True)

    def last_checkpoint(self) -> Path | None:
        """Return the checkpoint to resume from."""
        found = complete_checkpoints(self.checkpoints)
        return found[-1] if found else None

    def finish(self, record: Json, save_model: Callable[[Path], None]) -> None:
        """Write the model, then the record; each appears entirely or not at all."""
        draft = draft_of(self.model)
        save_model(draft)
        shutil.rmtree(self.model, ignore_errors=True)  # of a run killed before its record
        os.replace(draft, self.model)
        write_json(self.record, record)


def write_json(path: Path, value: Json) -> None:
    """Write JSON for people to read."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _read(path: Path) -> Json:
    try:
        value: Json = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not the JSON of a run; choose another folder.") from error
    return value
