"""Which examples are measured and attacked: a split, or the part of it that a protocol names.

What differs from a split is written out as a data folder of its own, so that an evaluation reads it
as it reads any other, and a reader can see what was attacked.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from holdfast.attack import covered, letters
from holdfast.data import Example, Task, checksum, demo_examples, find_task, read_split, sample
from holdfast.record import write_atomically
from holdfast.reproduce.cell import Sample
from holdfast.reproduce.setting import Setting

DEMO_TASKS = {"sst2": "validation", "imdb": "test"}
"""Tasks that the demo's sentences can stand for, and the split that is measured."""
DEMO_TEST = 2000
SOURCE = "source.sha256"
"""Beside a sample: the checksum of the file it was chosen by."""


def demo_folder(output: Path) -> Path:
    """Return where the demo's sentences lie as a data folder."""
    return output / "data"


def write_demo(output: Path) -> None:
    """Write the demo's sentences as the splits of SST-2 and IMDB, as far as they are not there."""
    folder = demo_folder(output)
    files = [(find_task(name), split) for name, split in DEMO_TASKS.items()]
    wanted = [(task, part) for task, split in files for part in (split, task.train)]
    left = [at for at in wanted if not (folder / at[0].name / f"{at[1]}.jsonl").is_file()]
    if not left:
        return
    _, examples = demo_examples()
    drawn = sample(examples, len(examples), seed=0)
    for task, part in left:
        _write(folder, task, part, drawn[DEMO_TEST:] if part == task.train else drawn[:DEMO_TEST])


def sample_folder(setting: Setting, task: str, wanted: Sample) -> Path | None:
    """Return the data folder of a sample, written now if need be; none: the Hub's."""
    if wanted == "covered" and task in setting.allowed:
        return _covered(setting, find_task(task))
    if wanted == "test" and _has_both(find_task(task)):
        return _test(setting, find_task(task))
    if wanted == "textfooler" and setting.textfooler is not None:
        return _textfooler(setting, setting.textfooler)
    return setting.data


def _covered(setting: Setting, task: Task) -> Path:
    """Write the test examples whose substitutes were filtered by the language model."""
    folder = setting.output / "samples" / "covered"
    path = setting.allowed[task.name]
    if not _is_made_from(path, folder, task):
        found = covered(read_split(task, str(task.test), setting.data).examples, path)
        # some reviews are in the test set twice; the files have them once
        kept = list({tuple(map(letters, e.texts)): e for e in reversed(found)}.values())[::-1]
        _write(folder, task, str(task.test), kept, made_from=path)
    return folder


def _has_both(task: Task) -> bool:
    """Whether there is a test split beside the validation split, which would be read instead."""
    return task.validation is not None and task.test is not None


def _test(setting: Setting, task: Task) -> Path:
    """Write the test examples by themselves."""
    folder = setting.output / "samples" / "test"
    if not (folder / task.name / f"{task.test}.jsonl").is_file():
        examples = read_split(task, str(task.test), setting.data).examples
        _write(folder, task, str(task.test), examples)
    return folder


def _textfooler(setting: Setting, path: Path) -> Path:
    """Write the reviews that TextFooler was released with; its lines are `label text`."""
    folder, task = setting.output / "samples" / "textfooler", find_task("imdb")
    if not _is_made_from(path, folder, task):
        lines = path.read_text(encoding="utf-8").splitlines()
        parted = [line.partition(" ") for line in lines if line.strip()]
        examples = [Example("", (text,), int(label)) for label, _, text in parted]
        _write(folder, task, str(task.test), examples, made_from=path)
    return folder


def _is_made_from(path: Path, folder: Path, task: Task) -> bool:
    """Whether the sample is there and was written from this very file."""
    noted = folder / task.name / SOURCE
    written = (folder / task.name / f"{task.test}.jsonl").is_file() and noted.is_file()
    return written and noted.read_text(encoding="utf-8").strip() == checksum(path)


def _write(
    folder: Path,
    task: Task,
    split: str,
    examples: Iterable[Example],
    *,
    made_from: Path | None = None,
) -> None:
    path = folder / task.name / f"{split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {**dict(zip(task.texts, example.texts, strict=True)), task.label: example.label}
        for example in examples
    )
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomically(path, text, shared=True)
    if made_from is not None:
        write_atomically(path.with_name(SOURCE), checksum(made_from) + "\n", shared=True)
