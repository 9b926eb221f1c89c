"""What both peers' scripts share: jobs come in on one line each, measured results go out.

Standard library and torch alone: this runs in an environment that knows no Holdfast.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

Job = dict[str, Any]
Attacked = dict[str, Any]
"""Of one text: `adversarial` (or None) and the `queries` that it took, repeats included."""
AttackOne = Callable[[str, int], Attacked]


class Passes:
    """Counts what goes through a model, whoever sends it there."""

    def __init__(self, model: Any) -> None:
        self.calls = self.rows = self.tokens = 0
        model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, module: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs["input_ids"]
        self.calls += 1
        self.rows += ids.shape[0]
        self.tokens += ids.numel()

    def taken(self) -> dict[str, int]:
        """Return what was counted, and begin anew."""
        counted = {"calls": self.calls, "rows": self.rows, "tokens": self.tokens}
        self.calls = self.rows = self.tokens = 0
        return counted


def load(folder: str) -> tuple[Any, Any]:
    """Return the model and the tokenizer that a folder holds."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


@contextmanager
def seconds_of() -> Iterator[dict[str, float]]:
    """Measure what is done inside: the seconds of this process on a CPU, and those on the wall."""
    seconds: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield seconds
    seconds["cpu"] = time.process_time() - cpu
    seconds["wall"] = time.perf_counter() - wall


def measured(attack: AttackOne, texts: Sequence[Sequence[Any]], passes: Passes) -> Job:
    """Attack one text after the other; return the seconds, the counts and what came out."""
    passes.taken()
    with seconds_of() as seconds:
        outcomes = [attack(text, label) for text, label in texts]
    return {"seconds": seconds, **passes.taken(), "outcomes": outcomes}


def serve(packages: Sequence[str], begin: Callable[[Job], Callable[[Job], Job]]) -> None:
    """Read the setting, say what stands ready, then answer job after job."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    torch.set_num_threads(1)
    work = begin(json.loads(sys.stdin.readline()))
    _say(answers, {name: version(name) for name in packages})
    for line in sys.stdin:
        _say(answers, work(json.loads(line)))


def _say(answers: Any, content: Job) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()
