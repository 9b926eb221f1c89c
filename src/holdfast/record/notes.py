"""Small JSON files that lie beside a checkpoint, each with the format and version that wrote it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.record.environment import commit, version
from holdfast.record.files import write_atomically


def write_note(file: Path, form: int, content: Mapping[str, Any], *, indent: int = 2) -> None:
    """Write a note of format `form`, entirely or not at all."""
    head = {"format": form, "holdfast": version(), "commit": commit()}
    text = json.dumps({**head, **content}, indent=indent, ensure_ascii=False) + "\n"
    write_atomically(file, text, shared=True)  # every process of a distributed run may save


def read_note(
    file: Path, form: int, otherwise: str, *, also: tuple[int, ...] = ()
) -> dict[str, Any] | None:
    """Return a note of format `form`, or of those `also`; None where there is no file.

    `otherwise` says in a few words what a file that is no note does not do.
    """
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid JSON ({error}); save the model again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} {otherwise}; save the model again.")
    if content.get("format") not in (form, *also):
        raise InputError(
            f"{file} has format {content.get('format')!r} and this version of Holdfast reads "
            f"{form}; install the version that wrote it ({content.get('holdfast')})."
        )
    return content
