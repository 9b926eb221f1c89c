"""One split of a task, from a local folder or from the Hub.

A folder holds `<task>/<split>.jsonl` (or .json, .csv, .tsv), with the Hub's column names and
label codes.
"""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from holdfast.data.files import Split, check_two_classes, read_file
from holdfast.data.hub import read_hub_split
from holdfast.data.rows import SUFFIXES
from holdfast.data.task import Example, Task
from holdfast.errors import InputError


def load_split(task: Task, split: str, data: Path | None) -> list[Example]:
    """Return the examples of a split, from the folder `data` or, when None, from the Hub."""
    return read_split(task, split, data).examples


def read_split(task: Task, split: str, data: Path | None) -> Split:
    """Return the examples of a split together with their `Source`, for the run's record."""
    if data is None:
        found = read_hub_split(task, split)
    else:
        found = _read_once(task, split, split_file(task, split, data))
    if split == task.train:
        check_two_classes(found.examples, found.source.where)
    return found


def _read_once(task: Task, split: str, path: Path) -> Split:
    """Read a file, unless it was just read: many runs of one process want the same."""
    try:
        stamp = path.stat()
    except OSError:
        return read_file(task, path, split)  # which says what is wrong
    found = _remembered(task, split, path, (stamp.st_mtime_ns, stamp.st_size, stamp.st_ino))
    return replace(found, examples=list(found.examples))


@lru_cache(maxsize=4)
def _remembered(task: Task, split: str, path: Path, _: tuple[int, ...]) -> Split:
    return read_file(task, path, split)


def evaluation_split(task: Task, data: Path | None) -> str:
    """Name the published split to report on: validation where there is one, else test."""
    splits = [split for split in (task.validation, task.test) if split is not None]
    if data is not None:
        splits = [split for split in splits if _files(data / task.name, split)] or splits
    if not splits:
        raise InputError(f"Task {task.name} has no split to report on; name a file for it.")
    return splits[0]


def split_file(task: Task, split: str, data: Path) -> Path:
    """Find the one file of a split in the folder `data`."""
    if not data.is_dir():
        raise InputError(
            f"The data folder {data} does not exist or is not a folder; "
            f"pass a folder that holds {task.name}/{split}.jsonl."
        )
    folder = data / task.name
    if not folder.is_dir():
        raise InputError(
            f"The data folder {data} has no folder {task.name!r}{_listing(data)}; "
            f"expected {folder / split}.jsonl."
        )
    files = _files(folder, split)
    if not files:
        raise InputError(
            f"{folder} has no split {split!r}{_listing(folder)}; expected {split}.jsonl "
            f"or one ending in {', '.join(SUFFIXES[1:])}."
        )
    if len(files) > 1:
        names = " and ".join(file.name for file in files)
        raise InputError(f"{folder} holds {names}; keep one file for the split {split!r}.")
    return files[0]


def _files(folder: Path, split: str) -> list[Path]:
    candidates = (folder / f"{split}{suffix}" for suffix in SUFFIXES)
    return [file for file in candidates if file.is_file()]


def _listing(folder: Path) -> str:
    names = sorted(entry.name for entry in folder.iterdir())
    shown = ", ".join([*names[:12], "..."] if len(names) > 12 else names)
    return f" (there are {shown})" if names else " (it is empty)"
