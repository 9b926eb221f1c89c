"""What a model was trained on counts for it where it is measured on the same: this is told."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from holdfast.data import checksum
from holdfast.data.rows import read_rows
from holdfast.errors import InputError
from holdfast.evaluate.drawing import Drawn


def leaks(training: Mapping[str, Any] | None, drawn: Drawn) -> Iterator[str]:
    """Yield a warning where examples stand in the file of a training, if that is still there."""
    data = (training or {}).get("data") or {}
    file = Path(data.get("file") or "")
    if not file.is_file():
        return
    if checksum(file) == drawn.source:
        yield (
            "The model was trained on a part of this very file: what it has seen counts for it "
            "here; evaluate it on other texts."
        )
        return
    known = _texts(file, tuple(data.get("texts", ())), file.stat().st_mtime_ns)
    if seen := sum(example.texts in known for example in drawn.examples):
        yield (
            f"{seen:,} of the {len(drawn.examples):,} texts stand in the file that the model was "
            "trained on, word for word: what is measured on them says little of new texts."
        )


@lru_cache(maxsize=4)  # every cell of a model asks
def _texts(file: Path, columns: tuple[str, ...], changed: int) -> frozenset[tuple[str, ...]]:
    with suppress(InputError):  # it may have become another file since
        rows = read_rows(file)
        return frozenset(tuple(str(row.values.get(column)) for column in columns) for row in rows)
    return frozenset()
