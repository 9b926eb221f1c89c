"""Which attacks are the same: a name may stand for several, with other settings, other files.

The same checkpoint under a large and under a small lexicon gives two numbers, and their difference
says nothing of the model.
"""

from collections import defaultdict
from collections.abc import Iterable

from holdfast.record.run_record import RunRecord

UNKNOWN = "unknown"
_SHOWN = 6  # digits of a checksum that a name has
_APART, _END = " (settings ", ")"


def settings_apart(records: Iterable[RunRecord]) -> list[str]:
    """Return for each record by which settings its attack differs from others of its name.

    They are the start of the attack's checksum; empty: the name stands for one attack on that task.
    """
    records = list(records)
    found: dict[tuple[str, str | None], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        form, settings = _settings(record)
        found[record.task, record.attack][form].add(settings)
    several = {name for name, of in found.items() if any(len(one) > 1 for one in of.values())}
    return [
        (_settings(r)[1][:_SHOWN] or UNKNOWN) if (r.task, r.attack) in several else ""
        for r in records
    ]


def _settings(record: RunRecord) -> tuple[str, str]:
    """Return in which form the checksum of the attack was taken, and the checksum.

    Earlier records have none, and `holdfast attack` takes another one than `holdfast evaluate` does
    of the same attack. Checksums of two forms contradict nothing, so that such records are compared
    by the name, as all were before there were checksums. Only where those of one form differ, and
    the name does stand for several attacks, nobody knows which of them the other form is about:
    then it is an attack of its own.
    """
    if "attack" not in record.checksums:
        return "none", ""
    return ("outcomes" if "outcomes" in record.checksums else "cell"), record.checksums["attack"]


def with_settings(attack: str, settings: str) -> str:
    """Return the name of an attack with the settings that tell it from others, if any do."""
    return f"{attack}{_APART}{settings}{_END}" if settings else attack


def settings_in(attack: str | None) -> str:
    """Return the settings that stand in a name, or nothing."""
    return (attack or "").partition(_APART)[2].removesuffix(_END)


def without_settings(attack: str | None) -> str | None:
    """Return the name as it was given."""
    return attack and attack.partition(_APART)[0]
