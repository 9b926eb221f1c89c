"""Tasks and their examples: from local files, from the Hub, and as padded batches.

The names that need torch are imported when they are first used, so that listing the tasks or
refusing a bad file takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.data.demo import (
    DemoParts,
    demo_examples,
    demo_model_path,
    demo_parts,
    demo_sentences_path,
)
from holdfast.data.files import Source, Split, checksum, read_file, source_of, task_from_file
from holdfast.data.load import evaluation_split, load_split, read_split
from holdfast.data.majority import majority
from holdfast.data.splitting import sample, sample_to_train, split_train_validation
from holdfast.data.task import Example, Task
from holdfast.data.tasks import TASKS, find_task

if TYPE_CHECKING:
    from holdfast.data.encoding import EncodedExamples, Item, PadBatch, ensure_padding

__all__ = [
    "TASKS",
    "DemoParts",
    "EncodedExamples",
    "Example",
    "Item",
    "PadBatch",
    "Source",
    "Split",
    "Task",
    "checksum",
    "demo_examples",
    "demo_model_path",
    "demo_parts",
    "demo_sentences_path",
    "ensure_padding",
    "evaluation_split",
    "find_task",
    "load_split",
    "majority",
    "read_file",
    "read_split",
    "sample",
    "sample_to_train",
    "source_of",
    "split_train_validation",
    "task_from_file",
]

_NEED_TORCH = ("EncodedExamples", "Item", "PadBatch", "ensure_padding")


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        return getattr(import_module("holdfast.data.encoding"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
