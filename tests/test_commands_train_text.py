"""What `holdfast train` says at its end."""

import json
from pathlib import Path

from holdfast.commands.train import shown
from holdfast.train import TrainResult


def result(folder: Path, accuracy: float, **changes: object) -> TrainResult:
    parts = {"validation": {"examples": 40}}
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"data": {"parts": parts}, "config": {}}))
    metrics = {"validation_loss": 0.66, "validation_accuracy": accuracy}
    given = {"readings": (), "best_step": 7, "seconds": 1.0, "peak_memory_bytes": 1 << 30}
    return TrainResult(output=folder, metrics=metrics, **{**given, **changes})


def test_the_accuracy_stands_beside_what_knowing_nothing_would_score(tmp_path: Path) -> None:
    told = shown(result(tmp_path, 0.9, majority={"validation": 0.55}))
    assert "one class %" in told
    assert "55.0" in told
    assert "no better than" not in told


def test_a_model_that_learnt_nothing_is_told(tmp_path: Path) -> None:
    told = " ".join(shown(result(tmp_path, 0.525, majority={"validation": 0.55})).split())
    assert "no better than always answering the most frequent class" in told
    assert "--optimisation.epochs" in told


def test_runs_of_before_say_no_majority(tmp_path: Path) -> None:
    assert "no better than" not in shown(result(tmp_path, 0.3))
