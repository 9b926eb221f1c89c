"""Which columns of a file models read: those that are named, else those they were trained on."""

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from holdfast.attack.stream import Process
from holdfast.data.rows import column_names
from holdfast.errors import InputError
from holdfast.text import TextSettings

Names = tuple[str, ...]
TEXTS: Names = ("text",)
LABEL = "label"


def find_texts(named: Names, models: Sequence[Path], file: Path) -> Names:
    """Return the text columns of a file: one, or two of pairs."""
    trained = [settings.texts for settings in _remembered(models)]
    found = named or _agreed(trained, TEXTS, file, "texts")
    _tell_others(named, trained, found, file, "texts")
    return found


def find_label(named: str | None, models: Sequence[Path], file: Path) -> str:
    """Return the column that holds the label."""
    trained = [(settings.label,) for settings in _remembered(models) if settings.label is not None]
    found = (named,) if named else _agreed(trained, (LABEL,), file, "label")
    _tell_others(named, trained, found, file, "label")
    return found[0]


def _tell_others(
    named: str | Names | None, trained: Sequence[Names], found: Names, file: Path, setting: str
) -> None:
    """Say so where a file is read by another column than was trained on, and nobody chose it."""
    others = {names for names in trained if names and names != found}
    if not named and others and Process.of_environment().rank == 0:
        told = " and ".join(sorted(", ".join(names) for names in others))
        print(
            f"note: {file} does not have what was trained on ({told}); read is its column "
            f"{', '.join(found)}. Name another with --{setting}.",
            file=sys.stderr,
        )


def refuse_another_number(parts: int, models: Sequence[Path]) -> None:
    """Refuse single texts for models of pairs, and pairs for models of single texts."""
    how = {1: "give a --file and name its two columns", 2: "name one column"}
    for settings in _remembered(models):
        if unlike := settings.unlike(parts):
            raise InputError(f"{unlike}; {how[parts]} with --texts.")


def _remembered(models: Sequence[Path]) -> list[TextSettings]:
    found = (TextSettings.load(model) for model in models)
    return [settings for settings in found if settings is not None]


def _agreed(trained: Iterable[Names], usual: Names, file: Path, setting: str) -> Names:
    there = column_names(file)
    found = {_known(names, usual, there) for names in trained if names} or {usual}
    if len(found) > 1:
        told = " and ".join(sorted(", ".join(names) for names in found))
        raise InputError(
            f"The models were trained on different columns ({told}); say with --{setting} which of "
            f"{file} to read."
        )
    return found.pop()


def _known(trained: Names, usual: Names, there: Collection[str]) -> Names:
    """Return the trained names, unless only the usual ones, as many, are in the file."""
    lacking, others = not set(trained) <= set(there), set(usual) <= set(there)
    return usual if lacking and others and len(usual) == len(trained) else trained
