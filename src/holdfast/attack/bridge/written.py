"""Outcomes from elsewhere as a file like those of Holdfast's own attacks."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast.attack.stream import FORMAT
from holdfast.errors import InputError
from holdfast.record import Outcome, write_atomically


def write_outcomes(outcomes: Iterable[Outcome], path: Path, *, attack: str, victim: str) -> Path:
    """Write a header and an outcome a line, as `attack_to_file` does, and return `path`.

    `attack` names what was run, and `victim` what it was run against: its fingerprint if known.
    """
    found = list(outcomes)
    if path.exists():
        raise InputError(f"{path} exists; choose another output, or remove it.")
    if len({outcome.id for outcome in found}) < len(found):
        raise InputError("Two outcomes have the same id; give each example one of its own.")
    lines = [_header(found, attack, victim), *(outcome.to_json() for outcome in found)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return path


def _header(outcomes: list[Outcome], attack: str, victim: str) -> dict[str, Any]:
    digest = hashlib.sha256()
    for outcome in outcomes:
        digest.update(json.dumps([outcome.id, outcome.texts, outcome.label]).encode() + b"\n")
    return {
        "outcomes": FORMAT,
        "attack": {"type": "TextAttack", "name": attack},
        "victim": victim,
        "seed": None,  # TextAttack's is not in its log
        "examples": len(outcomes),
        "data_sha256": digest.hexdigest(),
    }
