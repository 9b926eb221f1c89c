"""`holdfast tasks`: the tasks by name, and which of them a data folder holds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.commands.settings import Interface
from holdfast.commands.table import table
from holdfast.data import TASKS, Task
from holdfast.data.load import split_file
from holdfast.data.rows import read_rows
from holdfast.errors import InputError


@dataclass(frozen=True)
class TasksOptions:
    """What `holdfast tasks` takes."""

    data: Path | None = None
    """Folder of tasks: say which are there, and how many rows each split has."""


INTERFACE = Interface(
    "tasks",
    "List the tasks, their columns, labels and splits. Any file with text and label columns "
    "can be trained on as well: holdfast train --data.file reviews.csv.",
    TasksOptions,
    switches={"json": "print the list as one JSON object"},
)


def run(argv: Sequence[str]) -> None:
    """List the tasks."""
    options, switches = INTERFACE.read(argv)
    if options.data is not None and not options.data.is_dir():
        raise InputError(f"The data folder {options.data} does not exist or is not a folder.")
    described = {name: describe(task, options.data) for name, task in TASKS.items()}
    if "json" in switches:
        print(json.dumps(described))
    else:
        print(_listing(described))


def describe(task: Task, data: Path | None) -> dict[str, Any]:
    """Return a task as plain values; with a folder, the rows of each split that is there."""
    splits = [split for split in (task.train, task.validation, task.test) if split]
    known: dict[str, Any] = {
        "texts": list(task.texts),
        "label": task.label,
        "labels": list(task.labels),
        "splits": splits,
        "hub": "/".join(filter(None, (task.hub, task.hub_config))),
    }
    if data is not None:
        known["rows"] = {
            split: rows for split in splits if (rows := _rows(task, split, data)) is not None
        }
    return known


def _rows(task: Task, split: str, data: Path) -> int | str | None:
    """Count the rows of a split; None where there is no file, a sentence where it is broken."""
    try:
        path = split_file(task, split, data)
    except InputError:
        return None
    try:
        return _json_lines(path) if path.suffix == ".jsonl" else len(read_rows(path))
    except InputError as error:
        return str(error)


def _json_lines(path: Path) -> int:
    # Listing must be quick; whether each line can be trained on is for training to say.
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _listing(described: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [[name, *_cells(task)] for name, task in described.items()]
    return table(["task", "texts", "labels", "splits"], rows)


def _cells(task: Mapping[str, Any]) -> list[str]:
    labels = ", ".join(f"{code} {name}" for code, name in enumerate(task["labels"]))
    return [", ".join(task["texts"]), labels, _splits(task)]


def _splits(task: Mapping[str, Any]) -> str:
    if "rows" not in task:
        return ", ".join(task["splits"])
    return "; ".join(f"{split} {_count(task['rows'].get(split))}" for split in task["splits"])


def _count(rows: int | str | None) -> str:
    if rows is None:
        return "not there"
    return f"{rows:,}" if isinstance(rows, int) else rows
