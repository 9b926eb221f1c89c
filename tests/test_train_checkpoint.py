"""Complete checkpoints: which count, which stay, and that a removed one never counts."""

from pathlib import Path
from unittest import mock

import pytest

from holdfast.train import checkpoint
from holdfast.train.checkpoint import MARKER, complete_checkpoints, discard_incomplete, mark, rotate


def make(root: Path, *steps: int) -> None:
    for step in steps:
        (root / f"checkpoint-{step}").mkdir()
        mark(root / f"checkpoint-{step}", step)


def steps(root: Path) -> list[int]:
    return [int(folder.name.split("-")[1]) for folder in complete_checkpoints(root)]


def test_checkpoints_are_ordered_by_step(tmp_path):
    make(tmp_path, 100, 20, 3)
    assert steps(tmp_path) == [3, 20, 100]


@pytest.mark.parametrize(
    ("limit", "best", "left"),
    [
        (2, 1, [1, 4]),
        (2, 4, [3, 4]),
        (1, 2, [2, 4]),
        (1, None, [4]),
        (3, 1, [1, 3, 4]),
        (9, 1, [1, 2, 3, 4]),
        (None, 1, [1, 2, 3, 4]),
    ],
)
def test_the_last_and_the_best_stay(tmp_path, limit, best, left):
    make(tmp_path, 1, 2, 3, 4)
    rotate(tmp_path, limit, None if best is None else f"elsewhere/checkpoint-{best}")
    assert steps(tmp_path) == left


def test_a_kill_while_removing_leaves_nothing_that_looks_complete(tmp_path):
    make(tmp_path, 1, 2)
    killed = mock.patch.object(checkpoint.shutil, "rmtree", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):
        rotate(tmp_path, 1, None)
    assert steps(tmp_path) == [2]
    assert (tmp_path / "checkpoint-1").is_dir()
    discard_incomplete(tmp_path)
    assert not (tmp_path / "checkpoint-1").exists()
    assert (tmp_path / "checkpoint-2" / MARKER).is_file()
