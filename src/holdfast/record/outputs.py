"""Places where something is to be written: refused before the work is done, not after it."""

import tempfile
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record.files import draft_of


def refuse_folder(folder: Path) -> None:
    """Raise unless files can be written in a folder, which may be made later; nothing is left."""
    try:
        with tempfile.TemporaryFile(dir=_standing(folder)):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def refuse_file(file: Path) -> None:
    """Raise unless a file can be written at a place; its folder may be made later."""
    try:
        if file.is_dir():
            raise InputError(f"{file} is a folder; name a file in it.")
        draft = _standing(file.parent) / draft_of(file).name  # the longest name that it will have
        draft.open("ab").close()
        draft.unlink(missing_ok=True)  # other processes may try the same place
    except OSError as error:
        raise _unwritable(file, error) from error


def _standing(folder: Path) -> Path:
    """Return the folder itself, or the nearest above it that is there."""
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise InputError(
            f"{above} is a file, and nothing can be written in it; name a place in a folder."
        )
    return above


def _unwritable(place: Path, error: OSError) -> InputError:
    reason = error.strerror or error
    return InputError(f"{place} cannot be written ({reason}); name a place where you may write.")
