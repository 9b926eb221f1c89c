"""A run killed at any moment and started again ends as if nothing had happened."""

import dataclasses
import json
import shutil
import signal
from pathlib import Path

import pytest
import torch
import train_tiny as tiny
from safetensors.torch import load_file
from train_process import exit_code_of, killed_before_record, killed_in_checkpoint, killed_in_step

from holdfast.implicit import Connection, Theta
from holdfast.train import DataConfig, Optimisation, TrainConfig, TrainResult, fine_tune
from holdfast.train.checkpoint import complete_checkpoints


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> TrainConfig:
    """Two epochs of five steps with dropout, a checkpoint after every third step."""
    root = tmp_path_factory.mktemp("runs")
    return TrainConfig(
        model=str(tiny.write_checkpoint(root / "model", dropout=0.2)),
        output=root / "whole",
        data=DataConfig(file=tiny.write_csv(root / "data.csv", 50), max_length=16),
        connection=Connection(layers="2", scheme=Theta(), on_failure="keep"),
        optimisation=Optimisation(
            learning_rate=1e-2, batch_size=8, epochs=2, checkpoint_every=3, log_every=2
        ),
        seed=3,
    )


@pytest.fixture(scope="module")
def whole(config) -> TrainResult:
    return fine_tune(config, progress=False)


def assert_same_run(found: TrainResult, expected: TrainResult) -> None:
    ours, theirs = (load_file(r.model / "model.safetensors") for r in (found, expected))
    assert all(torch.equal(ours[name], value) for name, value in theirs.items())
    assert found.metrics == expected.metrics
    assert found.best_step == expected.best_step
    assert found.readings == expected.readings
    logs = [(r.output / "log.jsonl").read_text() for r in (found, expected)]
    assert logs[0] == logs[1]


def seconds_of(output: Path, checkpoint: str | None) -> float:
    """Return how long the killed run had worked when it wrote its last checkpoint."""
    if checkpoint is None:
        return 0.0
    folder = output / "checkpoints" / checkpoint
    state = json.loads((folder / "trainer_state.json").read_text())
    seconds: float = state["stateful_callbacks"]["Clock"]["attributes"]["seconds"]
    assert seconds > 0
    return seconds


@pytest.mark.parametrize(
    ("killed", "args", "left"),
    [
        (killed_in_step, (2,), None),
        (killed_in_step, (8,), "checkpoint-6"),
        (killed_in_checkpoint, (6,), "checkpoint-3"),
        (killed_before_record, (), "checkpoint-10"),
    ],
    ids=["before the first checkpoint", "between two", "while writing one", "at the very end"],
)
def test_a_killed_run_ends_as_if_it_had_not_been(config, whole, tmp_path, killed, args, left):
    config = dataclasses.replace(config, output=tmp_path / "killed")
    assert exit_code_of(killed, config, *args) == -signal.SIGKILL
    seconds = seconds_of(config.output, left)
    found = fine_tune(config, progress=False)
    record = json.loads((found.output / "run.json").read_text())
    assert record["resumed_from"] == left
    assert record["seconds"] == pytest.approx(seconds + record["seconds_this_run"], abs=2e-3)
    assert not found.already_done
    assert_same_run(found, whole)


def test_a_half_written_checkpoint_is_removed(config, tmp_path):
    config = dataclasses.replace(config, output=tmp_path / "killed")
    assert exit_code_of(killed_in_checkpoint, config, 3) == -signal.SIGKILL
    half = config.output / "checkpoints" / "checkpoint-3"
    assert (half / "model.safetensors").is_file()
    (half / "left").touch()
    fine_tune(config, progress=False)
    assert not (half / "left").exists()


def test_a_killed_run_may_be_moved(config, whole, tmp_path):
    first = dataclasses.replace(config, output=tmp_path / "here")
    assert exit_code_of(killed_in_step, first, 8) == -signal.SIGKILL
    shutil.move(tmp_path / "here", tmp_path / "there")
    found = fine_tune(dataclasses.replace(config, output=tmp_path / "there"), progress=False)
    assert_same_run(found, whole)


def test_an_undisturbed_run_took_as_long_as_its_only_part(whole):
    assert whole.seconds == whole.seconds_this_run > 0


def test_only_the_best_and_the_last_checkpoint_stay(whole):
    kept = {folder.name for folder in complete_checkpoints(whole.output / "checkpoints")}
    assert {f"checkpoint-{whole.best_step}", "checkpoint-10"} <= kept
    assert len(kept) <= 2


def test_a_finished_run_is_not_run_again(config, whole):
    before = {path: path.stat().st_mtime_ns for path in _files(whole.output)}
    again = fine_tune(config, progress=False)
    assert again == dataclasses.replace(whole, already_done=True)
    assert before == {path: path.stat().st_mtime_ns for path in _files(whole.output)}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
