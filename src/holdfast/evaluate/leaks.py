"""What a model was trained on counts for it where it is measured on the same: this is told."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from holdfast.data import checksum
from holdfast.data.rows import read_rows
from holdfast.evaluate.drawing import Drawn
from holdfast.record import RunRecord

WHOLE = "source/train"
"""Checksum of a file that was trained and validated on as it is, and not on a draw of it."""


def leaks(training: RunRecord | None, drawn: Drawn) -> Iterator[str]:
    """Yield a warning where examples stand in the file of a training.

    Which file that was its record says; to count single texts it must still be there.
    """
    data = {} if training is None else (training.config.get("data") or {})
    file = Path(data.get("file") or "")
    if training is None or not data.get("file"):
        return
    now = _checksum(file)
    trained = training.checksums.get(WHOLE, now)  # records of earlier versions do not have it
    if trained == drawn.source:
        yield (
            "The model was trained on a part of this very file: what it has seen counts for it "
            "here; evaluate it on other texts."
        )
    elif now and now == training.checksums.get(WHOLE) and data.get("examples") is None:
        known = _texts(file, tuple(data["texts"]), now)
        if seen := sum(example.texts in known for example in drawn.examples):
            yield (
                f"{seen:,} of the {len(drawn.examples):,} texts stand in the file that the model "
                "was trained on, word for word: what is measured on them says little of new texts."
            )


def _checksum(file: Path) -> str | None:
    try:
        return checksum(file) if file.is_file() else None
    except OSError:  # somebody else's, who trained the model
        return None


@lru_cache(maxsize=1)  # every cell of a model asks, and they come one after the other
def _texts(file: Path, columns: tuple[str, ...], sha256: str) -> frozenset[tuple[str, ...]]:
    rows = read_rows(file)
    return frozenset(tuple(str(row.values.get(column)) for column in columns) for row in rows)
