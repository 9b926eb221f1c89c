"""The record of `holdfast attack`, beside its outcomes, so that reports show it."""

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.evaluate import Checkpoint, record_of_outcomes
from holdfast.evaluate.bench import device_name
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


def write_attack_record(
    options: Any, victim: ModelVictim, drawn: Drawn, seconds: float, begun: tuple[str, ...]
) -> RunRecord:
    """Write the record of finished outcomes and return it; one that is there is kept.

    `options` are those of `holdfast attack`; `begun` is what is to be said of their beginning and
    of the texts.
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
        told = [note for note in earlier.notes if note not in begun]
        if earlier.checksums == _checksums(found, drawn) and told == list(found.notes):
            return earlier  # its seconds are those of the attack
    training = checkpoint.training() if checkpoint else None
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
        notes=(*found.notes, *begun),
    )
    write_record(record, path)
    return record


def tell_leaks(folder: Path, drawn: Drawn) -> tuple[str, ...]:
    """Say on stderr where texts to attack were trained on, and return the sentences."""
    checkpoint = _checkpoint(folder)
    found = tuple(leaks(checkpoint.training(), drawn)) if checkpoint else ()
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
