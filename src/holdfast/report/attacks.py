"""One name for several attacks: each gets the start of its checksum beside it, and a column.

A number under a large lexicon and one under a small lexicon are not to be compared, and a mean over
both would be of no attack.
"""

from holdfast.record import Found
from holdfast.record.attacks import named_apart


def named_by_settings(found: Found) -> Found:
    """Return the records, with the settings in every name of an attack that stands for several."""
    paths = (path for path, _ in found.records)
    named = named_apart(record for _, record in found.records)
    return Found(tuple(zip(paths, named, strict=True)), found.problems)
