"""Which checkpoint is put to which task: the labels decide, and what it was trained on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.data import Task, find_task
from holdfast.errors import InputError, first_line
from holdfast.evaluate.advglue import ADVGLUE, read_advglue
from holdfast.evaluate.checkpoint import Checkpoint
from holdfast.evaluate.named import Named
from holdfast.evaluate.suite import Suite
from holdfast.record import RunRecord
from holdfast.victim import Victim

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """A checkpoint and what it is put to."""

    checkpoint: Checkpoint
    labels: Labels
    """The names the model has for its classes."""
    training: RunRecord | None
    """Of the run that made it; none: unknown."""
    tasks: tuple[str, ...] = ()
    """Of the suite's tasks."""
    parts: tuple[str, ...] = ()
    """Of AdvGLUE's tasks; empty where the suite has no AdvGLUE."""
    victim: Victim | None = None
    """The model where it is in memory; none: it is loaded when its turn comes."""

    @property
    def trained(self) -> str | None:
        """Task of its training; none: unknown."""
        return None if self.training is None else self.training.task


def fit(checkpoints: Sequence[Checkpoint | Named], suite: Suite) -> list[Fitted]:
    """Return what each checkpoint is put to, or say what does not fit, before anything runs."""
    begun = [_begun(one) for one in checkpoints]
    offered = read_advglue(suite.advglue) if suite.advglue is not None else ()
    owned = {(one.checkpoint.place, one.trained) for one in begun}
    found = []
    for one in begun:
        fitting = [task for task in suite.tasks if codes(find_task(task), one.labels) is not None]
        # a task that another checkpoint of the same row was trained on is that one's
        place, own = one.checkpoint.place, one.trained
        tasks = tuple(task for task in fitting if task == own or (place, task) not in owned)
        wanted = _advglue_tasks(one, tasks) if offered else ()
        parts = tuple(part for part in offered if ADVGLUE[part].name in wanted)
        found.append(replace(one, tasks=tasks, parts=parts))
    _refuse_unfit(found, suite)
    _refuse_same_place(found, suite)
    return found


def _begun(one: Checkpoint | Named) -> Fitted:
    if isinstance(one, Checkpoint):
        return Fitted(one, model_labels(one.folder), one.training())
    names = one.label_names()
    if len(names) != one.victim.classes:
        raise InputError(
            f"{one.name} tells {one.victim.classes} classes apart and {len(names)} labels are "
            "given; give each class one."
        )
    return Fitted(one.checkpoint, names, None, victim=one.victim)


def model_labels(folder: Path) -> Labels:
    """Return the names a checkpoint has for its classes, without loading its weights."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is no model that can be read ({first_line(error)}).") from error
    names = getattr(config, "id2label", None) or {}
    return tuple(str(name) for _, name in sorted(names.items()))


def codes(task: Task, labels: Labels) -> tuple[int, ...] | None:
    """Return the model's code of each label of a task; none: the model has other labels.

    Published models keep labels in an order of their own, and write them in capitals. Names that
    nobody gave (LABEL_0, or 0) stand for the task's own order.
    """
    if len(labels) != len(task.labels):
        return None
    if sorted(labels) == sorted(task.labels):
        return tuple(map(labels.index, task.labels))
    if all(re.fullmatch(rf"(LABEL_)?{code}", name) for code, name in enumerate(labels)):
        return tuple(range(len(labels)))
    theirs = [_plain(name) for name in labels]
    ours = [_plain(name) for name in task.labels]
    distinct = len(set(ours)) == len(ours)  # without their signs -1 and 1 are the same
    return tuple(map(theirs.index, ours)) if distinct and sorted(theirs) == sorted(ours) else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _advglue_tasks(one: Fitted, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks a checkpoint is for: by its training, the suite, or its labels."""
    known = {task.name: task for task in ADVGLUE.values()}
    if one.trained in known:
        return (one.trained,)
    if tasks:
        return tuple(task for task in tasks if task in known)
    named = not all(re.fullmatch(r"(LABEL_)?\d+", name) for name in one.labels)
    fitting = [name for name, task in known.items() if codes(task, one.labels) is not None]
    if named and len(fitting) == 1:
        return tuple(fitting)
    reason = "fit several" if fitting else "fit none"
    raise InputError(
        f"{one.checkpoint.folder} does not say which of AdvGLUE's tasks it was trained for: its "
        f"labels ({', '.join(one.labels)}) {reason} of them; name its task among the suite's."
    )


def _refuse_unfit(found: Sequence[Fitted], suite: Suite) -> None:
    """Refuse a checkpoint without a task, and a task without a checkpoint."""
    for one in found:
        if not (one.tasks or one.parts or suite.file):
            raise InputError(
                f"The model {one.checkpoint.folder} has the labels {', '.join(one.labels)}, and no "
                f"task of the suite has them ({'; '.join(map(_labelled, suite.tasks))}); evaluate "
                "it on the task it was trained for, or on a file."
            )
    left = set(suite.tasks).difference(*(one.tasks for one in found))
    if left:
        raise InputError(
            f"No checkpoint has the labels of the task {_labelled(min(left))}; leave the task out, "
            "or give a model that was trained for it."
        )


def _labelled(task: str) -> str:
    return f"{task}: {', '.join(find_task(task).labels)}"


def _refuse_same_place(found: Sequence[Fitted], suite: Suite) -> None:
    """Refuse two checkpoints whose records would be the same file."""
    taken: dict[tuple[Path, str], Checkpoint] = {}
    for one in found:
        own = [suite.file.stem] if suite.file else []
        for what in (*one.tasks, *own, *(f"advglue/{part}" for part in one.parts)):
            other = taken.setdefault((one.checkpoint.place, what), one.checkpoint)
            if other is not one.checkpoint:
                seed = "an unknown seed" if other.seed is None else f"the seed {other.seed}"
                raise InputError(
                    f"{other.folder} and {one.checkpoint.folder} are both called {other.name} and "
                    f"have {seed}, for {what}; give them different names, as in name=folder."
                )
