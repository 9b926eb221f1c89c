"""Which attacks are the same: a name may stand for several, with other settings, other files.

The same checkpoint under a large and under a small lexicon gives two numbers, and their difference
says nothing of the model.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from holdfast.record.run_record import RunRecord

UNKNOWN = "unknown"
_SHOWN = 6  # digits of a checksum that a name has
_APART, _END = " (settings ", ")"


def attack_checksum(described: Iterable[Any]) -> str:
    """Return the checksum of attacks by their descriptions, with all settings and files.

    Every record has it from here, whoever attacked, so that those of the same attack agree.
    """
    return hashlib.sha256(json.dumps(list(described), sort_keys=True).encode()).hexdigest()


def settings_apart(records: Iterable[RunRecord]) -> list[str]:
    """Return for each record by which settings its attack differs from others of its name.

    They are the start of the attack's checksum; empty: the name stands for one attack on that task.
    Early records have no checksum and are compared by the name, as all were then. Only where it
    stands for several attacks, nobody knows which of them they met, and theirs is one of its own.
    """
    records = list(records)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in records:
        if record.attack is not None and (checksum := _checksum(record)):
            found[record.task, record.attack].add(checksum)
    several = {name for name, checksums in found.items() if len(checksums) > 1}
    return [
        (_checksum(r)[:_SHOWN] or UNKNOWN) if (r.task, r.attack) in several else "" for r in records
    ]


def _checksum(record: RunRecord) -> str:
    return record.checksums.get("attack", "")


def named_apart(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records, with the settings in every name of an attack that stands for several."""
    records = list(records)
    return [
        replace(record, attack=with_settings(record.attack, settings))
        if record.attack is not None and settings
        else record
        for record, settings in zip(records, settings_apart(records), strict=True)
    ]


def with_settings(attack: str, settings: str) -> str:
    """Return the name of an attack with the settings that tell it from others, if any do."""
    return f"{attack}{_APART}{settings}{_END}" if settings else attack


def settings_in(attack: str | None) -> str:
    """Return the settings that stand in a name, or nothing."""
    return (attack or "").partition(_APART)[2].removesuffix(_END)


def without_settings(attack: str | None) -> str | None:
    """Return the name as it was given."""
    return attack and attack.partition(_APART)[0]
