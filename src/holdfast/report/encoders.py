"""One name for trainings of several pre-trained models: each gets the name of its own beside it.

A recipe that was run on two encoders has the same name in both folders of records, and a mean over
them would be of no model.
"""

from collections import defaultdict
from dataclasses import replace

from holdfast.record import Found, RunRecord

APART = ", "
"""Stands between a name and the encoder's."""


def named_by_encoder(found: Found) -> Found:
    """Return the records, with the encoder in every name that stands for several of them."""
    encoders: dict[str, set[str]] = defaultdict(set)
    for _, record in found.records:
        encoders[record.model] |= {name for name in (encoder_of(record),) if name}
    records = (
        (path, _renamed(record) if len(encoders[record.model]) > 1 else record)
        for path, record in found.records
    )
    return Found(tuple(records), found.problems)


def encoder_of(record: RunRecord) -> str:
    """Return the last part of the pre-trained model's name; empty where a record has none."""
    training = record.training if record.kind == "evaluation" else record.config
    name = (training or {}).get("model")
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(name, str) else ""


def without_encoder(model: str) -> str:
    """Return the name as it was given."""
    return model.partition(APART)[0]


def _renamed(record: RunRecord) -> RunRecord:
    encoder = encoder_of(record)
    return replace(record, model=f"{record.model}{APART}{encoder}") if encoder else record
