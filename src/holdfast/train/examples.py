"""The examples of a run: read, sampled and split as its configuration says."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.data import (
    Example,
    Source,
    Task,
    evaluation_split,
    find_task,
    read_file,
    read_split,
    sample_to_train,
    source_of,
    split_train_validation,
    task_from_file,
)
from holdfast.errors import InputError
from holdfast.record import encode
from holdfast.train.config import DataConfig


@dataclass(frozen=True)
class RunExamples:
    """What a run trains on, what chooses its checkpoint, and what is measured at its end."""

    task: Task
    train: list[Example]
    validation: list[Example]
    held_out: list[Example] | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return for the record where the examples came from and which they are."""
        parts = {"train": self.train, "validation": self.validation, "held_out": self.held_out}
        return {
            "task": self.task.name,
            "labels": list(self.task.labels),
            "sources": encode(self.sources),
            "parts": {name: _describe(part) for name, part in parts.items() if part},
        }


def gather_examples(config: DataConfig, seed: int) -> RunExamples:
    """Read the examples; then sample, then split, both by the seed."""
    read = _from_task if config.file is None else _from_file
    task, examples, held_out, sources = read(config)
    if config.examples is not None:
        examples = sample_to_train(examples, config.examples, seed=seed)
    share = 1 - config.validation_share
    train, validation = split_train_validation(examples, share=share, seed=seed)
    return RunExamples(task, train, validation, held_out, sources)


_Read = tuple[Task, list[Example], list[Example] | None, dict[str, Source]]


def _from_task(config: DataConfig) -> _Read:
    if config.held_out_file is not None:
        raise InputError("data.held_out_file goes with data.file; a task has its own split.")
    task = find_task(config.task or "")
    train = read_split(task, task.train, config.folder)
    if not config.held_out:
        return task, train.examples, None, {"train": train.source}
    held_out = read_split(task, evaluation_split(task, config.folder), config.folder)
    sources = {"train": train.source, "held_out": held_out.source}
    return task, train.examples, held_out.examples, sources


def _from_file(config: DataConfig) -> _Read:
    if config.file is None or config.folder is not None:
        raise InputError("data.folder goes with data.task; leave it out when data.file is given.")
    task, examples = task_from_file(config.file, config.texts, config.label)
    sources = {"train": source_of(config.file, examples)}
    if config.held_out_file is None or not config.held_out:
        return task, examples, None, sources
    held_out = read_file(task, config.held_out_file, "held_out")
    return task, examples, held_out.examples, {**sources, "held_out": held_out.source}


def _describe(examples: list[Example]) -> dict[str, Any]:
    """Count and fingerprint examples, in order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps([example.id, example.texts, example.label]).encode() + b"\n")
    return {"examples": len(examples), "sha256": digest.hexdigest()}
