"""Which cells are finished: what was measured of them, and the files it was measured with.

A file is known by its checksum, wherever it lies. AdvGLUE may come later: without it a part of a
cell was left out, which is measured then. Any other file makes other numbers, so it needs an output
folder of its own.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from holdfast.attack import Material
from holdfast.attack.sources import ModelFolder, WordNetFolder
from holdfast.data import checksum
from holdfast.errors import InputError
from holdfast.record import write_atomically
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.setting import Setting

Note = dict[str, Any]
ADVGLUE = "AdvGLUE"
Stamps = tuple[tuple[str, int, int], ...]


def cell_folder(setting: Setting, cell: Cell) -> Path:
    """Return the folder of a cell's training."""
    return setting.output / "cells" / cell.id


def is_done(setting: Setting, cell: Cell) -> bool:
    """Whether all that is now asked of a cell was measured, with the files of now."""
    notes = _notes(setting, cell)
    return bool(notes) and _note(setting, cell) in notes


def note_done(setting: Setting, cell: Cell) -> None:
    """Note that a cell is finished."""
    file = cell_folder(setting, cell) / "done.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    notes = [*_notes(setting, cell), _note(setting, cell)]
    write_atomically(file, json.dumps(notes, indent=1) + "\n")


def refuse_other_files(setting: Setting, cells: Iterable[Cell]) -> None:
    """Refuse to go on where a finished cell was measured with other files than those of now."""
    for cell in cells:
        for note in _notes(setting, cell):
            if other := sorted(_others(note["resources"], _resources(setting, cell))):
                raise InputError(
                    f"In {setting.output} the cell {cell.row}, {cell.measure.task}, seed "
                    f"{cell.seed} was measured with another {other[0]}, or with none; give the "
                    "same as then, or choose another output folder."
                )


def _others(before: Note, now: Note) -> Iterator[str]:
    """Yield what is not the same file as before; AdvGLUE may be new."""
    for name in before.keys() & now.keys():
        if before[name] != now[name] and not (name == ADVGLUE and before[name] is None):
            yield name


def _notes(setting: Setting, cell: Cell) -> list[Note]:
    """Return what was finished; a note that does not tell its files counts for nothing."""
    file = cell_folder(setting, cell) / "done.json"
    if not file.is_file():
        return []
    notes = json.loads(file.read_text(encoding="utf-8"))
    return [_as_of_now(note) for note in notes if "resources" in note]


def _as_of_now(note: Note) -> Note:
    """Return a note as it is written now: word vectors came later, and before there were none."""
    if not _takes(note["measure"]["attacks"], "vectors"):
        return note
    return {**note, "resources": {_WORDS["vectors"]: None, **note["resources"]}}


def _note(setting: Setting, cell: Cell) -> Note:
    return {"measure": cell.measure.written(), "resources": _resources(setting, cell)}


def _resources(setting: Setting, cell: Cell) -> dict[str, str | None]:
    """Return the checksum of each file that a cell is measured with; none: it is not there."""
    measure, found = cell.measure, dict[str, Path | None]()
    if (own := _defence(cell)) not in (None, setting.lexicon):
        found["lexicon of the defence"] = own
    if measure.sample == "covered":
        found["list of covered examples"] = setting.allowed.get(measure.task)
    if measure.sample == "textfooler":
        found["sample of TextFooler"] = setting.textfooler
    if measure.evaluated and measure.advglue:
        found[ADVGLUE] = setting.advglue
    if measure.evaluated:
        material = material_of(setting, measure)
        taken = {name for name in vars(material) if _takes(measure.attacks_run, name)}
        found |= {_WORDS[name]: getattr(material, name) for name in _WORDS if name in taken}
    return {name: _checksum(name, path) for name, path in found.items()}


_WORDS = {
    "lexicon": "lexicon",
    "allowed_sets": "file of allowed sets",
    "wordnet": "WordNet",
    "encoder": "sentence encoder",
    "vectors": "file of word vectors",
}
"""Material of attacks to what a sentence calls it."""


def _defence(cell: Cell) -> Path | None:
    """Return the lexicon of a cell's canonical text; that of the attacks is noted with them."""
    canonical = None if cell.train is None else cell.train.canonical
    return None if canonical is None else canonical.lexicon


def _takes(attacks: Iterable[str], name: str) -> bool:
    given = Material(**{name: Path()})
    return any(not given.unused_by(attack) for attack in attacks)


def material_of(setting: Setting, measure: Measure) -> Material:
    """Return of the files at hand those that some attack takes.

    Substitutes that a language model let pass belong to the examples they were published for.
    """
    covered = measure.sample == "covered"
    whole = Material(
        lexicon=setting.lexicon,
        allowed_sets=setting.allowed.get(measure.task) if covered else None,
        wordnet=setting.wordnet,
        encoder=setting.encoder,
        vectors=setting.vectors,
    )
    taken = {name: at for name, at in vars(whole).items() if _takes(measure.attacks_run, name)}
    return Material(**taken)


def _checksum(name: str, path: Path | None) -> str | None:
    if name == "WordNet":
        return _of_wordnet(path)
    if path is None:
        return None
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        stamps = tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files)
    except OSError as error:
        raise InputError(f"The {name} {path} cannot be read ({error.strerror}).") from error
    return _hashed(path, stamps)


@lru_cache(maxsize=64)
def _hashed(path: Path, _: Stamps) -> str:
    """Return the checksum of a file or a model, read once as long as it is not changed."""
    return ModelFolder.of(path).sha256 if path.is_dir() else checksum(path)


@lru_cache(maxsize=4)
def _of_wordnet(folder: Path | None) -> str | None:
    try:
        return WordNetFolder.of(folder).sha256
    except InputError:
        if folder is not None:
            raise
        return None  # what needs it will say so
