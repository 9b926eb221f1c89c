"""Tasks from the Hugging Face Hub, through `datasets`."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from holdfast.data.files import Source, Split, to_examples
from holdfast.data.rows import Row
from holdfast.data.task import Example, Task
from holdfast.errors import InputError


def read_hub_split(task: Task, split: str) -> Split:
    """Load a split of `task` from the Hub, or from the cache of `datasets`.

    Nobody can correct a row there, so a row with an empty text (QQP has some) is left out and
    counted, where the same row in a file is an error.
    """
    where = "/".join(part for part in ("hub:" + str(task.hub), task.hub_config, split) if part)
    rows = [
        Row(number, f"{where}, row {number}", values)
        for number, values in enumerate(_download(task, split))
    ]
    examples = to_examples(task, split, [row for row in rows if not _has_empty_text(task, row)])
    dropped = len(rows) - len(examples)
    return Split(examples, Source(where, _checksum(examples), len(examples), dropped))


def _download(task: Task, split: str) -> Iterable[Mapping[str, object]]:
    if task.hub is None:
        raise InputError(f"Task {task.name} is not on the Hub; pass a folder that holds its files.")
    try:
        import datasets  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(
            "The package `datasets`, which reads from the Hub, is not installed; "
            f"pass a folder that holds {task.name}/{split}.jsonl, or `pip install datasets`."
        ) from None
    try:
        rows: Iterable[Mapping[str, object]]
        rows = datasets.load_dataset(task.hub, task.hub_config, split=split)
    except Exception as error:  # whatever its HTTP stack, its cache or its parsers raise
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise InputError(
            f"The split {split!r} of {task.name} could not be loaded from the Hub ({reason}); "
            f"pass a folder that holds {task.name}/{split}.jsonl."
        ) from error
    return rows


def _has_empty_text(task: Task, row: Row) -> bool:
    texts = (row.values.get(column) for column in task.texts)
    return any(isinstance(text, str) and not text.strip() for text in texts)


def _checksum(examples: Iterable[Example]) -> str:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps([example.texts, example.label]).encode() + b"\n")
    return digest.hexdigest()
