"""Run the cell of a record again, from its configuration alone, and compare."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from holdfast.attack import Material
from holdfast.errors import InputError, RunFailed
from holdfast.evaluate import AdvGLUECell, AttackCell, CleanCell, Reading, Suite, evaluate
from holdfast.record import Metric, RunRecord, decode, encode, read_record
from holdfast.reproduce.cell import Probed
from holdfast.reproduce.resources import Wanted, find_setting
from holdfast.reproduce.run import Say, Workshop
from holdfast.reproduce.samples import sample_folder
from holdfast.text import Canonical, Substitutions
from holdfast.train import TrainConfig, fine_tune

T = TypeVar("T", Substitutions, Canonical)
Measured = CleanCell | AttackCell | AdvGLUECell
KINDS = ("CleanCell", "AttackCell", "AdvGLUECell")
TIMED = ("latency_ms", "memory_mib")
"""Numbers of the machine, not of the model."""
COST = ("parameters", "gflops", *TIMED)
"""Numbers that the record of an accuracy may have, too; they are not measured again with it."""


@dataclass(frozen=True)
class Compared:
    """A number of a record, and the same number now."""

    before: Metric
    now: float | None
    """None: it was not measured this time, though the record has it."""

    @property
    def inside(self) -> bool | None:
        """Whether it lies in the record's interval; none: there is no interval, or no number."""
        low, high = self.before.low, self.before.high
        if self.now is None or low is None or high is None:
            return None
        return low <= self.now <= high

    @property
    def holds(self) -> bool:
        """Whether the number is there again, and in its interval if it has one."""
        return self.now is not None and self.inside is not False


@dataclass(frozen=True)
class Again:
    """A record that was run again."""

    file: Path
    record: RunRecord
    compared: tuple[Compared, ...]
    left_out: tuple[str, ...] = ()
    """Names of numbers that were not compared: costs, which are not measured again."""

    @property
    def holds(self) -> bool:
        """Whether every number is there again, and in its interval where it has one."""
        return all(one.holds for one in self.compared)


def run_again(file: Path, wanted: Wanted, *, say: Say = lambda _: None) -> Again:
    """Train and measure what `file` records, anew.

    Models, data and files are where the record says; `wanted` names those that have moved.
    """
    record = read_record(file)
    say(f"{record.model}, {record.task}, seed {record.seed}: again, as {file} says")
    if record.config.get("type") == "Probed":
        now = _probed(record, wanted)
    elif record.training is None:
        raise InputError(
            f"{file} does not say how its model was trained, so it cannot be run again; evaluate "
            "checkpoints that lie beside their run.json."
        )
    elif record.kind == "training":
        now = _trained(record, wanted)
    else:
        now = _evaluated(record, wanted)
    return _compared(file, record, now)


def _compared(file: Path, before: RunRecord, now: RunRecord) -> Again:
    """Lay a record beside the one of now; costs are left out, but what a probe of them counts."""
    known = [metric for metric in before.metrics if metric.value is not None]
    skipped = TIMED if before.config.get("type") == "Probed" else COST
    pairs = tuple(Compared(m, _value(now, m)) for m in known if m.name not in skipped)
    left_out = dict.fromkeys(metric.name for metric in known if metric.name in skipped)
    return Again(file, before, pairs, tuple(left_out))


def _value(record: RunRecord, metric: Metric) -> float | None:
    found = record.metric(metric.name, metric.group)
    return None if found is None else found.value


def _folder(record: RunRecord, wanted: Wanted) -> Path:
    """Return a folder for this training: the cells of one model train it once."""
    what = json.dumps([record.training or record.config, wanted.model, str(wanted.data)])
    return wanted.output / "again" / hashlib.sha256(what.encode()).hexdigest()[:12]


def _trained(record: RunRecord, wanted: Wanted) -> RunRecord:
    config: TrainConfig = decode(TrainConfig, record.training, where="the training of the record")
    data = config.data
    if wanted.data is not None and data.folder is not None and not data.folder.is_dir():
        data = dataclasses.replace(data, folder=wanted.data)
    moved = dataclasses.replace(
        config,
        model=wanted.model or config.model,
        data=data,
        substitutions=_with_lexicon(config.substitutions, wanted),
        canonical=None if config.canonical is None else _with_lexicon(config.canonical, wanted),
        output=_folder(record, wanted),
    )
    fine_tune(moved, progress=False)
    return read_record(moved.output / "run.json")


def _with_lexicon(settings: T, wanted: Wanted) -> T:
    """Return settings whose lexicon is where it is now."""
    return dataclasses.replace(settings, lexicon=_moved("lexicon", settings.lexicon, wanted))


def _evaluated(record: RunRecord, wanted: Wanted) -> RunRecord:
    kind = record.config.get("type")
    if kind not in KINDS:
        raise InputError(
            f"The record is of a {kind}, which is not run again by itself; give the record of an "
            "accuracy, of an attack, of a task of AdvGLUE, or of a training."
        )
    cell: Any = decode(Measured, record.config, where="the configuration of the record")
    suite = _suite(cell, _beside_the_training(record, wanted))  # what is missing is said first
    _trained(record, wanted)
    model = _folder(record, wanted) / "model"
    checkpoint = dataclasses.replace(cell.checkpoint, folder=model)
    # the accuracy without an attack is measured beside each, on as many examples
    out = _folder(record, wanted) / "records" / f"{suite.examples or 'all'} examples"
    found = evaluate(checkpoint, suite, out)
    same = [r for r in found if (r.task, r.attack) == (record.task, record.attack)]
    if not same:
        raise InputError(f"The evaluation gave no record of {record.task}; nothing to compare.")
    return same[0]


def _beside_the_training(record: RunRecord, wanted: Wanted) -> Wanted:
    """Return `wanted` with the model and the data of the training, where it names none.

    A sample that was attacked lay in the output of then, and is written again from these.
    """
    config: TrainConfig = decode(TrainConfig, record.training, where="the training of the record")
    data = wanted.data or config.data.folder
    return dataclasses.replace(wanted, model=wanted.model or config.model, data=data)


def _suite(cell: Measured, wanted: Wanted) -> Suite:
    """Return the part of a suite that the cell is."""
    read: dict[str, Any] = {"precision": cell.precision, "max_length": cell.max_length}
    if isinstance(cell, AdvGLUECell):
        file = cell.file if cell.file.is_file() else wanted.advglue or cell.file
        return Suite(attacks=(), advglue=file, adaptive=False, cost=False, **read)
    attacked = cell if isinstance(cell, AttackCell) else None
    reading = cell.reading
    return Suite(
        tasks=() if reading.file else (reading.task,),
        attacks=(attacked.attack,) if attacked else (),
        seeds=(reading.seed,),
        examples=reading.examples,
        data=_data(reading, wanted),
        file=reading.file,
        texts=reading.texts or ("text",),
        label=reading.label,
        material=_material(attacked, wanted) if attacked else Material(),
        moving=attacked.moving if attacked else "last",
        certify=bool(attacked and attacked.certify),
        adaptive=False,
        stability=bool(attacked and attacked.stability),
        cost=False,
        **read,
    )


def _material(cell: AttackCell, wanted: Wanted) -> Material:
    """Return the files an attack reads, where they are now; its suite had others beside it."""
    unused = cell.material.unused_by(cell.attack)
    given = {name: path for name, path in vars(cell.material).items() if name not in unused}
    return Material(**{name: _moved(name, path, wanted) for name, path in given.items()})


def _moved(name: str, path: Path | None, wanted: Wanted) -> Path | None:
    """Return a file of a record; where it has gone, the one that `wanted` names or holds."""
    if path is None or path.exists():
        return path
    if wanted.data is not None:  # a run may have two lexicons, so its name tells
        same = wanted.data / "substitutions" / path.name
        if same.exists():
            return same
    given: Path | None = getattr(wanted, name, None)
    return path if given is None else given


def _data(reading: Reading, wanted: Wanted) -> Path | None:
    """Return the folder of the examples; where it has gone, what `wanted` names."""
    folder = reading.data
    if folder is None or folder.is_dir() or wanted.data is None:
        return folder
    kind = folder.name if folder.parent.name == "samples" else ""
    if kind in ("test", "covered", "textfooler"):
        return sample_folder(find_setting(wanted), reading.task, kind)  # type: ignore[arg-type]
    return wanted.data


def _probed(record: RunRecord, wanted: Wanted) -> RunRecord:
    """Run a map of features or the growth of a perturbation again."""
    probed: Probed = decode(Probed, record.config, where="the configuration of the record")
    model, data = wanted.model or probed.model, probed.data
    asked = dataclasses.replace(
        wanted,
        model=model,
        data=wanted.data if data is not None and not data.is_dir() else data,
        reading=probed.reading,
        output=_folder(record, wanted),
    )
    alone = dataclasses.replace(probed.cell.measure, attacks=(), advglue=False, evaluated=False)
    cell = dataclasses.replace(probed.cell, measure=alone)
    if cell.train is not None:
        cell = dataclasses.replace(cell, train=dataclasses.replace(cell.train, model=model))
    workshop = Workshop(find_setting(asked, pairs=True))
    if failed := workshop.run([cell]):
        raise RunFailed(failed[0])
    place = workshop.records / record.model / str(record.seed) / f"{record.task}.json"
    return read_record(place)


def summary(again: Again) -> dict[str, Any]:
    """Return what came out as plain values."""
    return {
        "file": str(again.file),
        "model": again.record.model,
        "task": again.record.task,
        "attack": again.record.attack,
        "seed": again.record.seed,
        "holds": again.holds,
        "left_out": list(again.left_out),
        "metrics": [
            {**encode(one.before), "now": one.now, "inside": one.inside, "holds": one.holds}
            for one in again.compared
        ],
    }
