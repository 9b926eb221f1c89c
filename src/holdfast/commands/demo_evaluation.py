"""The demo's evaluation: each model as it is and under attack, as records and as a page."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.attack import Material
from holdfast.commands.evaluate import Narrated
from holdfast.data import Example, Task
from holdfast.evaluate import Checkpoint, Suite, evaluate_all
from holdfast.record import RunRecord, encode, find_records, write_atomically
from holdfast.report import write_report

ATTACK = "pwws_rift"
RESULTS, REPORT = "results", "report"


def evaluate_models(
    models: Mapping[str, Path], held_out: Path, lexicon: Path, attacked: int, seed: int
) -> dict[str, Any]:
    """Return, for each model, what was measured; the records lie beside the models.

    All sentences count for the accuracy, `attacked` of them for that under PWWS; every success is
    checked again from its text.
    """
    suite = Suite(
        file=held_out,
        attacks=(ATTACK,),
        examples=attacked,
        clean_examples=None,
        seeds=(seed,),
        material=Material(lexicon=lexicon),
        adaptive=False,  # minutes for each model; `holdfast evaluate` does it
    )
    checkpoints = [Checkpoint(name, folder, seed) for name, folder in models.items()]
    out = held_out.with_name(RESULTS)
    return _by_model(evaluate_all(checkpoints, suite, out, progress=Narrated()))


def _by_model(records: Sequence[RunRecord]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for record in records:
        of = found.setdefault(record.model, {})
        name = "accuracy" if record.attack is None else "accuracy_under_attack"
        of[name] = encode(record.metric(name))
    return found


def write_sentences(path: Path, task: Task, examples: Sequence[Example]) -> Path:
    """Write the sentences held out of training as a CSV file, as a user's own would be."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(["text", "label"])
    writer.writerows([example.texts[0], task.labels[example.label]] for example in examples)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, rows.getvalue())
    return path


def write_page(folder: Path, models: Sequence[str]) -> Path:
    """Write the report of all that was trained and measured, and return its folder."""
    places = [*(folder / name / "run.json" for name in models), folder / RESULTS]
    write_report(find_records(places), folder / REPORT)
    return folder / REPORT
