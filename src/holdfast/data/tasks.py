"""The tasks Holdfast knows by name: five of GLUE, IMDB and SNLI."""

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.data.task import Task
from holdfast.errors import InputError

_GLUE = "nyu-mll/glue"
_SENTIMENT = ("negative", "positive")
_INFERENCE = ("entailment", "neutral", "contradiction")
_BINARY_INFERENCE = ("entailment", "not_entailment")

# GLUE keeps the labels of its test sets to itself, so those tasks have no `test`.
_ALL = (
    Task("sst2", ("sentence",), _SENTIMENT, hub=_GLUE, hub_config="sst2"),
    Task(
        "qqp",
        ("question1", "question2"),
        ("not_duplicate", "duplicate"),
        hub=_GLUE,
        hub_config="qqp",
        test="test_bimpm",  # the labelled test set of Wang et al. 2017, from a folder only
    ),
    Task("qnli", ("question", "sentence"), _BINARY_INFERENCE, hub=_GLUE, hub_config="qnli"),
    Task(
        "mnli",
        ("premise", "hypothesis"),
        _INFERENCE,
        hub=_GLUE,
        hub_config="mnli",
        validation="validation_matched",
    ),
    Task("rte", ("sentence1", "sentence2"), _BINARY_INFERENCE, hub=_GLUE, hub_config="rte"),
    Task("imdb", ("text",), _SENTIMENT, hub="stanfordnlp/imdb", validation=None, test="test"),
    Task(
        "snli",
        ("premise", "hypothesis"),
        _INFERENCE,
        hub="stanfordnlp/snli",
        test="test",
        no_label=-1,  # the annotators did not agree
    ),
)

TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ALL})


def find_task(name: str) -> Task:
    """Return the task called `name`."""
    if name not in TASKS:
        raise InputError(
            f"There is no task {name!r}; choose one of {', '.join(TASKS)}, "
            "or pass a file of your own with its text and label columns."
        )
    return TASKS[name]
