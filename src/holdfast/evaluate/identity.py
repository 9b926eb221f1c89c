"""Whether a record that is already there is of the same cell, and if not, what differs."""

from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.record import RunRecord, read_record
from holdfast.record.leaves import differing, first_few, shown

_WORDS = {
    "model": "the model was another one, or read its texts in another way",
    "labels": "the model's classes had other names or another order",
    "data": "the examples were others",
    "attack": "the attack had other settings or files",
    "lexicon": "the lexicon was another",
    "encoder": "the sentence encoder was another",
    "transferred": "the texts of the reference were others",
}
_MEASURED = ("cost", "stability")  # what of the configuration no checksum stands for


def finished(path: Path, head: RunRecord) -> RunRecord | None:
    """Return the record at `path` if it is of the cell that `head` begins; none: it is not done.

    Files may lie elsewhere than before: what they hold decides, and the seeds. A record that
    contradicts itself is refused as it is read.
    """
    if not path.is_file():
        return None
    found = read_record(path)
    if _identity(found) != _identity(head, found):
        raise InputError(
            f"{path} holds another evaluation: {'; '.join(_differences(found, head))}. Choose "
            "another output folder, or the same settings."
        )
    if found.outcomes is not None and not path.with_name(found.outcomes).is_file():
        return None
    return found


def _identity(record: RunRecord, known_by: RunRecord | None = None) -> dict[str, Any]:
    """Return what makes a record the same; of labels only where `known_by` tells its own."""
    told = (known_by or record).checksums  # records of earlier versions have no labels
    names = [name for name in _WORDS if name != "labels" or name in told]
    checksums = {name: record.checksums[name] for name in names if name in record.checksums}
    measured = {name: record.config.get(name) for name in _MEASURED}
    measured["certify"] = _proved(record)
    return {"type": record.config.get("type"), "seeds": dict(record.seeds)} | checksums | measured


def _proved(record: RunRecord) -> bool:
    """Whether the answers under an attack were proved, or will be; other cells count the same then.

    Records of earlier versions ask for no proofs, or say that they were asked for where nothing can
    be proved: what is measured tells.
    """
    if record.config.get("type") != "AttackCell":
        return False
    if record.marks:
        return "certified_accuracy" in record.marks
    return bool(record.config.get("certify"))


def _differences(found: RunRecord, head: RunRecord) -> list[str]:
    """Return in words what differs: contents first, then settings that may be why."""
    before, now = _identity(found), _identity(head, found)
    told = [text for name, text in _WORDS.items() if before.get(name) != now.get(name)]
    settings = differing(found.config, head.config).items()
    told += [f"{name} was {shown(there)} and is {shown(here)}" for name, (there, here) in settings]
    return first_few(told)
