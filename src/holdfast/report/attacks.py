"""One name for several attacks: each gets the start of its checksum beside it, and a column.

A number under a large lexicon and one under a small lexicon are not to be compared, and a mean over
both would be of no attack.
"""

from dataclasses import replace

from holdfast.record import Found, RunRecord
from holdfast.record.attacks import settings_apart, with_settings


def named_by_settings(found: Found) -> Found:
    """Return the records, with the settings in every name of an attack that stands for several."""
    apart = settings_apart(record for _, record in found.records)
    records = (
        (path, _renamed(record, settings))
        for (path, record), settings in zip(found.records, apart, strict=True)
    )
    return Found(tuple(records), found.problems)


def _renamed(record: RunRecord, settings: str) -> RunRecord:
    if not settings or record.attack is None:
        return record
    return replace(record, attack=with_settings(record.attack, settings))
