"""Which columns of a file a model reads: those that are named, else those it was trained on."""

from collections.abc import Collection
from pathlib import Path

from holdfast.data.rows import column_names
from holdfast.text import TextSettings

Names = tuple[str, ...]
TEXTS: Names = ("text",)
LABEL = "label"


def find_texts(named: Names, model: Path, file: Path) -> Names:
    """Return the text columns of a file: one, or two of pairs."""
    trained = TextSettings.load(model)
    return named or _known(trained.texts if trained else (), TEXTS, column_names(file))


def find_label(named: str | None, model: Path, file: Path) -> str:
    """Return the column that holds the label."""
    if named is not None:
        return named
    trained = TextSettings.load(model)
    known = (trained.label,) if trained and trained.label is not None else ()
    return _known(known, (LABEL,), column_names(file))[0]


def _known(trained: Names, usual: Names, there: Collection[str]) -> Names:
    """Return the trained names, unless only the usual ones are in the file."""
    only_usual = not set(trained) <= set(there) and set(usual) <= set(there)
    return usual if only_usual or not trained else trained
