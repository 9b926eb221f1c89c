"""Files that are there entirely or not at all, whenever a run is killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, content: str | bytes, *, shared: bool = False) -> None:
    """Write a file at once; text is written in UTF-8. `shared` is that of `written_atomically`."""
    with written_atomically(path, shared=shared) as file:
        file.write(content if isinstance(content, bytes) else content.encode())


@contextmanager
def written_atomically(path: Path, *, shared: bool = False) -> Iterator[BinaryIO]:
    """Open a draft to write to; when all is written it reaches the disk, and is then renamed.

    `shared`: other processes may be writing the same file, so each has a draft of its own. A
    killed one leaves it, under a name that nobody knows; else the draft is `draft_of(path)`.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft") if shared else draft_of(path)
    with draft.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())  # or a crash of the machine could leave the name without content
    os.replace(draft, path)


def draft_of(path: Path) -> Path:
    """Return the name under which `path` is written before it is renamed."""
    return path.with_name(f".{path.name}.draft")
