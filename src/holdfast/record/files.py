"""Files that are there entirely or not at all, whenever a run is killed."""

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, *, shared: bool = False) -> None:
    """Write a draft, then rename it; text is written in UTF-8.

    `shared`: other processes may be writing the same file, so each has a draft of its own. A
    killed one leaves it, under a name that nobody knows; else the draft is `draft_of(path)`.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft") if shared else draft_of(path)
    draft.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.replace(draft, path)


def draft_of(path: Path) -> Path:
    """Return the name under which `path` is written before it is renamed."""
    return path.with_name(f".{path.name}.draft")
