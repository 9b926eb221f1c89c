"""Outcomes that no suite made, of `holdfast attack` or of another program, as a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.data import TASKS, checksum
from holdfast.errors import InputError
from holdfast.evaluate.attacking import counted
from holdfast.evaluate.measured import Measured
from holdfast.record import Outcome, OutcomesFile, RunRecord, encode
from holdfast.record.attacks import attack_checksum

UNVERIFIED = "The outcomes were taken as the file has them: nothing was verified here."


@dataclass(frozen=True)
class OutcomesElsewhere:
    """What a record of outcomes was made of."""

    file: Path
    model: str
    task: str
    seed: int | None = None


def record_of_outcomes(
    path: Path, *, model: str, task: str, seed: int | None = None, verified: bool = False
) -> RunRecord:
    """Return the record of an attack whose outcomes lie at `path`; nothing is run or written.

    `model` and `task` name its place in a table, and `seed` is that of the model's training, where
    it is known. Write the record beside the file, by `holdfast.record.write_record`, and reports
    show it. `verified`: whether `holdfast.attack.verify` has passed these very outcomes.
    """
    file = OutcomesFile(path)
    header, outcomes = file.header(), list(file)
    if file.torn or not outcomes:
        raise InputError(
            f"{path} holds {len(outcomes)} outcomes of the {header.get('examples', 'many')} that "
            "it promises; let the attack finish first."
        )
    attack = _attack_name(path, header)
    measured = _counted(outcomes, attack, task, certified=header.get("certify") is True)
    own = header.get("seed")
    return RunRecord(
        kind="evaluation",
        model=model,
        task=task,
        seed=seed,
        config=encode(OutcomesElsewhere(path, model, task, seed)),
        attack=attack,
        metrics=measured.metrics,
        marks=dict(measured.marks),
        checksums=_checksums(path, header),
        seeds={} if own is None else {"attack": own},
        outcomes=path.name,
        notes=(*measured.notes, *(() if verified else (UNVERIFIED,))),
    )


def _attack_name(path: Path, header: Mapping[str, Any]) -> str:
    """Return the attack's name; one with a goal of its own is another attack."""
    described = header.get("attack")
    name = described.get("name") if isinstance(described, Mapping) else None
    if not isinstance(described, Mapping) or not isinstance(name, str) or not name:
        raise InputError(
            f"{path} does not name its attack; expected a header as `holdfast attack` writes it."
        )
    match described.get("goal"):
        case {"type": "Targeted", "target": target}:
            return f"{name} to class {target}"
        case {"type": "ScoreDecrease", "below": below}:
            return f"{name} below {below}"
    return name


def _counted(outcomes: Sequence[Outcome], attack: str, task: str, *, certified: bool) -> Measured:
    """Return the numbers; what guessing scores is left out where the classes are not known."""
    classes = next((len(o.probabilities) for o in outcomes if o.probabilities), 0)
    if not classes and task in TASKS:
        classes = len(TASKS[task].labels)
    if classes:
        return counted(outcomes, attack, classes, certified=certified)
    found = counted(outcomes, attack, 2, certified=certified)
    return replace(found, metrics=tuple(replace(m, chance=None) for m in found.metrics))


def _checksums(path: Path, header: Mapping[str, Any]) -> dict[str, str]:
    known = {"model": header.get("victim"), "data": header.get("data_sha256")}
    return {
        **{name: str(value) for name, value in known.items() if value},
        "attack": attack_checksum([header["attack"]]),
        "outcomes": checksum(path),
    }
