"""A fine-tuned model on disk, with the name and the seed under which tables show it."""

import glob
import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import RunRecord, read_record

_log = logging.getLogger(__name__)

_NAME = re.compile(r"\w[\w.+ -]*")


@dataclass(frozen=True)
class Checkpoint:
    """A model, its row in a table, and which of several trainings of that row it is."""

    name: str
    """Of the row; checkpoints that differ in their seed or their task alone share it."""
    folder: Path
    """Of the model, as `holdfast train` writes it."""
    seed: int | None = None
    """Of its training; none: unknown."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(
                f"The checkpoint {self.folder} is called {self.name!r}; results lie in a folder "
                "of that name, so use letters, digits, dots, dashes and spaces."
            )

    @classmethod
    def read(cls, spec: str) -> "Checkpoint":
        """Return the checkpoint that `name=folder` or a folder names.

        The folder is a model's, or a run's that holds `model`; the run.json beside the model tells
        the seed. Without a name the folder of the run gives it.
        """
        name, folder = _parted(spec)
        model = folder / "model" if (folder / "model" / "config.json").is_file() else folder
        if not (model / "config.json").is_file():
            raise InputError(
                f"There is no checkpoint at {folder}; give the folder of a fine-tuned model, such "
                "as runs/x/model, or name=folder."
            )
        return cls(name or _run_folder(model).name, model, _seed(model))

    @property
    def title(self) -> str:
        """The name, and the seed where it is known."""
        return self.name if self.seed is None else f"{self.name} (seed {self.seed})"

    @property
    def place(self) -> Path:
        """Where its records lie within the folder of results."""
        return Path(self.name, "unknown" if self.seed is None else str(self.seed))

    def training(self) -> RunRecord | None:
        """Return the record of the run that made it, where a sound one lies beside it."""
        return training_of(self.folder)


def training_of(model: Path) -> RunRecord | None:
    """Return the record of the run that made the model in a folder, where there is a sound one."""
    file = _run_folder(model) / "run.json"
    with suppress(InputError):
        return read_record(file) if file.is_file() else None
    return None


def read_checkpoints(specs: Iterable[str]) -> list[Checkpoint]:
    """Return the checkpoints of `Checkpoint.read`; a folder may stand for many, as in `runs/*`."""
    found = []
    for spec in specs:
        name, folder = _parted(spec)
        places = sorted(glob.glob(str(folder))) if not folder.exists() else [str(folder)]
        prefix = f"{name}=" if name else ""
        found += [Checkpoint.read(f"{prefix}{place}") for place in places or [str(folder)]]
    if not found:
        raise InputError("There is no checkpoint to evaluate; give one as name=folder.")
    return found


def _parted(spec: str) -> tuple[str, Path]:
    name, equals, folder = spec.partition("=")
    if equals and not Path(spec).exists() and "/" not in name:
        return name, Path(folder)
    return "", Path(spec)


def _run_folder(model: Path) -> Path:
    whole = model.resolve()
    return whole.parent if whole.name == "model" else whole


def _seed(model: Path) -> int | None:
    file = _run_folder(model) / "run.json"
    try:
        return read_record(file).seed if file.is_file() else None
    except InputError as error:  # the model can be evaluated all the same
        _log.warning("How %s was trained is not known: %s", model, error)
        return None
