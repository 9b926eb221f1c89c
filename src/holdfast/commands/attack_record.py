"""The record of `holdfast attack`, beside its outcomes, so that reports show it."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.evaluate import Checkpoint, record_of_outcomes
from holdfast.evaluate.bench import device_name
from holdfast.evaluate.checkpoint import training_of
from holdfast.evaluate.drawing import Drawn
from holdfast.evaluate.leaks import leaks
from holdfast.record import RunRecord, describe_environment, encode, read_record, write_record
from holdfast.victim import ModelVictim


def record_path(output: Path) -> Path:
    """Return where the record of the outcomes at `output` lies; refuse what is not one."""
    path = output.with_suffix(".json")
    path = path.with_suffix(".record.json") if path == output else path
    if path.exists():
        try:
            kept = read_record(path).outcomes
        except InputError:
            kept = None
        if kept != output.name:
            raise InputError(
                f"The record of the attack would be {path}, which holds something else; choose "
                "another --output."
            )
    return path


@dataclass(frozen=True)
class Told:
    """What is to be said of an attack beside its numbers."""

    begun: tuple[str, ...] = ()
    """Of its beginning."""
    leaks: tuple[str, ...] = ()
    """Of texts that the model was trained on."""


def write_attack_record(
    options: Any, victim: ModelVictim, drawn: Drawn, seconds: float, told: Told
) -> RunRecord:
    """Write the record of finished outcomes and return it; the numbers of one there are kept.

    `options` are those of `holdfast attack`.
    """
    checkpoint = _checkpoint(options.model)
    found = record_of_outcomes(
        options.output,
        model=checkpoint.name if checkpoint else options.model.name,
        task=drawn.task.name,
        seed=checkpoint.seed if checkpoint else None,
        verified=options.verify,
    )
    path = record_path(options.output)
    if path.exists():
        earlier = read_record(path)
        if earlier.checksums == _checksums(found, drawn) and set(found.notes) <= set(earlier.notes):
            # its seconds are those of the attack; what it leaks may have come to light since
            return _also_told(earlier, told.leaks, path)
    training = training_of(options.model)
    record = replace(
        found,
        config=encode(options),
        labels=drawn.task.labels,
        training=None if training is None else training.training,
        checksums=_checksums(found, drawn),
        seeds=dict.fromkeys(("sample", "attack"), options.seed),
        environment=describe_environment(),
        device=device_name(victim),
        seconds=round(seconds, 3),
        notes=(*found.notes, *told.begun, *told.leaks),
    )
    write_record(record, path)
    return record


def _also_told(record: RunRecord, sentences: Sequence[str], path: Path) -> RunRecord:
    new = tuple(sentence for sentence in sentences if sentence not in record.notes)
    whole = replace(record, notes=(*record.notes, *new))
    if new:
        write_record(whole, path)
    return whole


def tell_leaks(folder: Path, drawn: Drawn) -> tuple[str, ...]:
    """Say on stderr where texts to attack were trained on, and return the sentences."""
    found = tuple(leaks(training_of(folder), drawn))
    for sentence in found:
        print(f"note: {sentence}", file=sys.stderr)
    return found


def _checksums(found: RunRecord, drawn: Drawn) -> dict[str, str]:
    """Return the checksums; that of the data is as in an evaluation, so that both compare."""
    return {**found.checksums, "data": drawn.sha256, "source": drawn.source}


def _checkpoint(folder: Path) -> Checkpoint | None:
    with suppress(InputError):  # its name need not be fit for a folder of results
        return Checkpoint.read(str(folder))
    return None
