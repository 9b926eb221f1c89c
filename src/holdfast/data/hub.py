"""Tasks from the Hugging Face Hub, through `datasets`; and what to do when it does not answer."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from holdfast.data.files import Source, Split, to_examples
from holdfast.data.rows import Row
from holdfast.data.task import Example, Task
from holdfast.errors import InputError, first_line

PATIENCE = 4.0  # seconds that the Hub has to answer at all


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


@contextmanager
def cache_if_unreachable() -> Iterator[None]:
    """Ask once whether the Hub answers; where it does not, let only its cache be read.

    The Hub's own client asks six times for each file, for half a minute, and prints every try.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _answers(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _answers(address: str) -> bool:
    from huggingface_hub import get_session

    try:
        answer = get_session().head(address, timeout=PATIENCE)
    except Exception:  # which ones depends on the client that huggingface_hub brings
        return False
    return int(answer.status_code) < 500  # a proxy answers for a Hub that it cannot reach


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
    from_datasets = datasets.exceptions.DatasetsError
    try:
        rows: Iterable[Mapping[str, object]]
        with cache_if_unreachable():
            rows = datasets.load_dataset(task.hub, task.hub_config, split=split)
    except (OSError, ValueError, RuntimeError, ImportError, from_datasets) as error:
        raise InputError(
            f"The split {split!r} of {task.name} could not be loaded from the Hub or its cache "
            f"({first_line(error)}); pass a folder that holds {task.name}/{split}.jsonl."
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
