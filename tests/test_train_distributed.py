"""Two processes give the loss curve of one, and gradients meet once a step."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import train_process  # noqa: F401  (what the processes are forked from)
import train_tiny as tiny
import train_two_processes as script
from safetensors.torch import load_file
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from holdfast.errors import InputError
from holdfast.implicit import Connection, Theta
from holdfast.record import encode
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune
from holdfast.train.arguments import _batch_share


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder in which two processes have run the script."""
    root = tmp_path_factory.mktemp("distributed")
    two = dataclasses.replace(config(root), output=root / "two")
    (root / "two.json").write_text(json.dumps(encode(two)))
    launch = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id="two",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="forkserver",
        logs_specs=DefaultLogsSpecs(log_dir=str(root / "logs"), redirects=Std.ALL),
    )
    elastic_launch(launch, script.main)(root)
    return root


def config(root: Path) -> TrainConfig:
    """Without dropout, whose masks differ between processes; 56 examples fill no part evenly."""
    return TrainConfig(
        model=str(tiny.write_checkpoint(root / "model", dropout=0.0)),
        output=root / "one",
        data=DataConfig(file=tiny.write_csv(root / "data.csv", 56), max_length=16),
        connection=Connection(layers="2", scheme=Theta(), on_failure="keep"),
        optimisation=Optimisation(
            learning_rate=1e-3, batch_size=8, epochs=1, checkpoint_every=2, log_every=1
        ),
    )


def answers(root: Path) -> list[dict[str, Any]]:
    return [json.loads((root / f"rank-{rank}.json").read_text()) for rank in (0, 1)]


def curve(output: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]


def test_the_loss_curve_is_that_of_one_process(root):
    one = fine_tune(config(root), progress=False)
    ours, theirs = curve(root / "two"), curve(one.output)
    assert len(ours) == len(theirs)
    for found, expected in zip(ours, theirs, strict=True):
        assert found == pytest.approx(expected, abs=1e-5)
    record = json.loads((root / "two" / "run.json").read_text())
    assert record["processes"] == 2
    assert record["metrics"] == pytest.approx(one.metrics, abs=1e-5)
    weights = load_file(one.model / "model.safetensors")
    for name, value in load_file(root / "two" / "model" / "model.safetensors").items():
        assert value.sub(weights[name]).abs().max() < 1e-4, name


def test_several_losses_and_a_head_train_as_in_one_process(root, tmp_path):
    one = script.trainer(tiny.TwoPasses(), tmp_path, processes=1)
    one.train()
    expected = script.summary(one)
    for found in answers(root):
        for name in ("curve", "head", "classifier"):
            for ours, theirs in zip(found[name], expected[name], strict=True):
                assert ours == pytest.approx(theirs, abs=1e-4), name


def test_gradients_meet_in_the_last_pass_of_a_step_only(root):
    for found in answers(root):
        assert found["synchronised"] == [False, False, False, True] * 3


def test_every_example_is_attacked_once(root):
    assert [found["held"] for found in answers(root)] == [6 / 11, 6 / 11]


def test_a_loss_that_is_no_number_stops_both(root):
    first, second = (found["failure"] for found in answers(root))
    assert "another process" in first
    assert "became nan at step 1, on the examples" in second


def test_nothing_is_printed(root):
    printed = [path.read_text() for path in (root / "logs").rglob("stdout.log")]
    assert printed == ["", ""]


def test_a_batch_is_shared_evenly_or_refused():
    assert _batch_share(16, 4) == 4
    with pytest.raises(InputError, match="16 examples cannot be shared evenly by 3"):
        _batch_share(16, 3)
