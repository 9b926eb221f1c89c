"""Checkpoints that survive a kill: one is complete when its marker, written last, is there."""

import json
import shutil
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import draft_of as draft_of  # so that it can be had from here too
from holdfast.record import write_atomically as write_atomically

MARKER = "complete.json"
STATE = "trainer_state.json"


def mark(folder: Path, step: int) -> None:
    """Declare the checkpoint complete."""
    write_atomically(folder / MARKER, json.dumps({"step": step}))


def unmark(folder: Path) -> None:
    """Declare that the checkpoint is about to be overwritten."""
    (folder / MARKER).unlink(missing_ok=True)


def complete_checkpoints(root: Path) -> list[Path]:
    """Return the complete checkpoints in `root`, by step."""
    found = [folder for folder in root.glob("checkpoint-*") if (folder / MARKER).is_file()]
    return sorted(found, key=lambda folder: int(folder.name.removeprefix("checkpoint-")))


def last_complete(root: Path) -> Path:
    """Return the checkpoint to resume from."""
    found = complete_checkpoints(root)
    if not found:
        raise InputError(
            f"There is no complete checkpoint in {root}; train without resume_from_checkpoint, or "
            "give the path of one."
        )
    return found[-1]


def discard_incomplete(root: Path) -> None:
    """Remove checkpoints that a kill left half-written or half-removed."""
    for folder in root.glob("checkpoint-*"):
        if not (folder / MARKER).is_file():
            shutil.rmtree(folder)


def rotate(root: Path, limit: int | None, best: str | None) -> None:
    """Keep the last `limit` complete checkpoints, always among them the last and the best.

    The marker goes first, so that a kill leaves no half-removed checkpoint that looks complete.
    """
    found = complete_checkpoints(root)
    kept = {found[-1].name, *([Path(best).name] if best is not None else [])}
    spare = [folder for folder in found if folder.name not in kept]
    surplus = len(found) - max(limit, len(kept)) if limit else 0
    for folder in spare[: max(surplus, 0)]:
        unmark(folder)
        shutil.rmtree(folder)


def relocate(checkpoint: Path) -> None:
    """Let the checkpoint point to its best sibling where that is now.

    The trainer stores an absolute path, which is wrong once the output folder was moved.
    """
    path = checkpoint / STATE
    state = json.loads(path.read_text(encoding="utf-8"))
    best = state["best_model_checkpoint"]
    if best is not None:
        state["best_model_checkpoint"] = str(checkpoint.with_name(Path(best).name))
        write_atomically(path, json.dumps(state, indent=2, sort_keys=True) + "\n")
