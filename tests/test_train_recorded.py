"""Recorded training steps, with a GPU that only counts and does again what it is told to."""

import logging
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import train_tiny as tiny
from torch import nn
from transformers import PreTrainedModel, TrainingArguments

from holdfast.implicit import connect, recommended
from holdfast.solve.recording import is_recording
from holdfast.train import RobustTrainer, recorded, recording_trainer
from holdfast.train.recorded import (
    AGAIN,
    NARROW,
    SHORT,
    WARM_UP,
    WIDE,
    Recorder,
    Step,
    casting_anew,
    obstacle,
    width,
)


class Graph:
    """Plays by doing `work`, which the step that is recorded leaves with it."""

    def __init__(self) -> None:
        self.played, self.work = 0, lambda: None

    def replay(self) -> None:
        self.played += 1
        self.work()


@pytest.fixture
def gpu(monkeypatch):
    """A GPU whose streams are names; `stream` is the one in use."""
    state = SimpleNamespace(stream="own", graphs=[], pools=[], freed=[], recording=False)
    state.emptied = lambda: None

    def named(name):
        return SimpleNamespace(name=name, wait_stream=lambda other: None)

    @contextmanager
    def on(stream):
        before, state.stream = state.stream, stream.name
        yield
        state.stream = before

    @contextmanager
    def record(graph, pool, stream):
        state.graphs.append(graph)
        state.pools.append(pool)
        state.recording, state.stream = True, stream.name
        try:
            yield
        finally:
            state.recording = False  # what breaks off stays on its stream

    generator = SimpleNamespace(clone_state=lambda: "state", graphsafe_set_state=state.freed.append)
    fakes = {
        "Stream": lambda: named("aside"),
        "current_stream": lambda: named(state.stream),
        "stream": on,
        "set_stream": lambda stream: setattr(state, "stream", stream.name),
        "CUDAGraph": Graph,
        "graph": record,
        "graph_pool_handle": object,
        "default_generators": (generator,),
        "current_device": lambda: 0,
        "empty_cache": lambda: state.emptied(),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return state


def recordable(gpu, take, trained):
    """Let a recording of `take` be played: on the inputs it held, into the tensors it wrote."""

    def taken(inputs):
        # a recording that begins with gradients would add to them whenever it is played
        assert not gpu.recording or all(p.grad is None for p in trained)
        step = take(inputs)
        if gpu.recording:
            written = [p.grad for p in trained]
            gpu.graphs[-1].work = lambda: take_again(inputs, step, written)
        return step

    def take_again(inputs, step, written):
        before = [p.grad for p in trained]
        give(trained, [None] * len(trained))
        now = take(inputs)
        pairs = [*zip(step.losses, now.losses, strict=True)]
        pairs += [*zip(written, (p.grad for p in trained), strict=True)]
        for name, values in step.parts.items():
            pairs += zip(values, now.parts[name], strict=True)
        for old, new in pairs:
            if old is not None:
                old.copy_(new)
        give(trained, before)  # a graph writes to memory and knows no parameters

    return taken


def give(parameters, gradients) -> None:
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient


REFUSED = RuntimeError("operation not permitted when stream is capturing\nmore")
NO_ROOM = torch.OutOfMemoryError("CUDA out of memory")


class Learner:
    """One weight; its loss is weight * sum(x), so the gradient is sum(x)."""

    def __init__(self, gpu) -> None:
        self.gpu, self.weight = gpu, nn.Parameter(torch.tensor(2.0))
        self.seen: list[tuple[int, bool]] = []
        self.broken: RuntimeError | None = None
        self.full = False
        self.recorder = Recorder(recordable(gpu, self.take, [self.weight]), [self.weight])

    def take(self, inputs) -> Step:
        self.seen.append((len(inputs["x"]), is_recording()))
        loss = self.weight * inputs["x"].sum()
        loss.backward()
        if self.broken is not None and self.gpu.recording:
            raise self.broken
        if self.full:
            raise NO_ROOM
        return Step([loss.detach()], {"twice": [2 * loss.detach()]})

    def step(self, *values: float) -> Step:
        """Take one step as Trainer does: gradients are gone before it."""
        self.weight.grad = None
        return self.recorder({"x": torch.tensor(values)})


# -- what is recorded, what is played -------------------------------------------------------------


def test_a_shape_that_comes_once_is_not_recorded(gpu) -> None:
    learner = Learner(gpu)
    assert learner.step(1.0, 2.0).losses[0].item() == 6.0
    learner.step(1.0, 2.0, 3.0)
    assert not gpu.graphs
    assert learner.seen == [(2, False), (3, False)]
    assert learner.weight.grad.item() == 6.0


def test_the_second_time_it_is_recorded_and_played(gpu) -> None:
    learner = Learner(gpu)
    learner.step(1.0, 2.0)
    learner.step(1.0, 2.0)
    # as it is; to warm up and to record, which the step must know; what the graph does again
    assert learner.seen == [(2, False), *[(2, True)] * (WARM_UP + 1), (2, False)]
    learner.step(1.0, 2.0)
    assert [graph.played for graph in gpu.graphs] == [2]
    assert gpu.stream == "own"


def test_later_shapes_need_less_to_warm_up(gpu) -> None:
    learner = Learner(gpu)
    for _ in range(2):
        learner.step(1.0, 2.0)
    learner.seen.clear()
    for _ in range(2):
        learner.step(1.0, 2.0, 3.0)
    assert learner.seen == [(3, False), *[(3, True)] * (AGAIN + 1), (3, False)]
    assert AGAIN < WARM_UP


def test_a_full_card_is_tried_again_when_the_shape_has_come_twice_as_often(gpu, caplog) -> None:
    learner = Learner(gpu)
    learner.broken = NO_ROOM
    for _ in range(9):
        assert learner.step(1.0, 2.0).losses[0].item() == 6.0
    assert len(gpu.graphs) == 2  # at the second step and at the fifth
    assert "for now (CUDA out of memory)" in caplog.text
    learner.broken = None  # the others are gone
    for _ in range(3):
        learner.step(1.0, 2.0)
    assert [graph.played for graph in gpu.graphs] == [0, 0, 2]


def test_a_short_training_has_fewer_and_wider_shapes() -> None:
    assert width(SHORT - 1) == WIDE > NARROW == width(SHORT)


def test_what_is_played_reads_the_inputs_and_weights_of_now(gpu) -> None:
    learner, given = Learner(gpu), torch.tensor([2.0, 1.0])
    found = [learner.step(1.0, 1.0), learner.recorder({"x": given})]
    learner.weight.data.fill_(3.0)
    found += [learner.step(5.0, 1.0), learner.step(6.0, 1.0)]
    assert given.tolist() == [2.0, 1.0]  # a recording reads from memory of its own
    # looked at together: what one step returns is not written over by the next
    assert [step.losses[0].item() for step in found] == [4.0, 6.0, 18.0, 21.0]
    assert [step.parts["twice"][0].item() for step in found] == [8.0, 12.0, 36.0, 42.0]


def test_each_shape_puts_its_own_gradients_back_on_the_parameters(gpu) -> None:
    learner = Learner(gpu)
    for values in ((1.0,), (1.0, 2.0), (2.0,), (2.0, 3.0), (3.0,), (3.0, 4.0), (5.0,)):
        learner.step(*values)  # without gradients before it
        assert learner.weight.grad.item() == sum(values)  # of this step alone
    assert [graph.played for graph in gpu.graphs] == [3, 2]
    assert gpu.pools[0] is gpu.pools[1]  # recordings share their memory


def test_no_more_than_so_many_shapes_are_recorded(gpu, monkeypatch) -> None:
    monkeypatch.setattr(recorded, "SHAPES", 1)
    learner = Learner(gpu)
    for values in ((1.0,), (1.0,), (1.0, 2.0), (1.0, 2.0), (4.0,)):
        learner.step(*values)
    assert [graph.played for graph in gpu.graphs] == [2]


def test_a_step_that_cannot_be_recorded_runs_as_it_is_and_is_not_tried_again(gpu, caplog) -> None:
    learner = Learner(gpu)
    learner.broken = REFUSED
    with caplog.at_level(logging.WARNING):
        for value in (1.0, 2.0, 3.0):
            assert learner.step(value).losses[0].item() == 2 * value
            assert learner.weight.grad.item() == value  # nothing is left of what broke off
    assert (gpu.stream, gpu.freed) == ("own", ["state"])  # random numbers can be drawn again
    learner.step(1.0, 1.0)
    learner.step(1.0, 1.0)
    assert len(gpu.graphs) == 1
    assert len(caplog.records) == 1
    assert caplog.messages[0].endswith("(operation not permitted when stream is capturing).")


def test_a_shape_that_was_recorded_is_still_played_after_another_failed(gpu) -> None:
    learner = Learner(gpu)
    learner.step(1.0)
    learner.step(1.0)
    learner.broken = REFUSED
    learner.step(1.0, 2.0)
    learner.step(1.0, 2.0)
    assert learner.step(7.0).losses[0].item() == 14.0
    assert [graph.played for graph in gpu.graphs] == [2, 0]


def test_a_step_for_which_there_is_no_room_is_taken_without_the_recordings(gpu, caplog) -> None:
    learner = Learner(gpu)
    for _ in range(2):
        learner.step(1.0)
    learner.full = True
    gpu.emptied = lambda: setattr(learner, "full", False)  # the recordings filled it
    assert learner.step(1.0, 2.0).losses[0].item() == 6.0
    assert learner.weight.grad.item() == 3.0  # nothing is left of what broke off
    assert "1 recordings are dropped" in caplog.text
    for _ in range(3):
        learner.step(1.0)
    assert [graph.played for graph in gpu.graphs] == [1]  # and none is made again


def test_a_step_that_is_too_large_by_itself_says_so(gpu) -> None:
    learner = Learner(gpu)
    learner.full = True
    with pytest.raises(torch.OutOfMemoryError):
        learner.step(1.0)


# -- what stands in the way -----------------------------------------------------------------------


def test_every_obstacle_has_a_name(monkeypatch) -> None:
    assert obstacle(tiny.model(), 1, 1) == "the model is on no GPU"
    on_gpu = property(lambda model: torch.device("cuda"))
    monkeypatch.setattr(PreTrainedModel, "device", on_gpu)
    assert obstacle(tiny.model(), 1, 1) is None
    for processes, accumulated in ((2, 1), (1, 4)):
        assert "several processes or batches" in obstacle(tiny.model(), processes, accumulated)
    found = {}
    for dropout in ("frozen", "off", "resample"):
        model = tiny.model()
        connect(model, replace(recommended, dropout=dropout))
        found[dropout] = obstacle(model, 1, 1)
    assert '"frozen"' in found.pop("frozen")
    assert found == {"off": None, "resample": None}


@pytest.mark.parametrize("before", [True, False])
def test_autocast_remembers_no_weight_for_a_while(before) -> None:
    usual = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(before)
    try:
        with casting_anew(False):
            assert torch.is_autocast_cache_enabled() is before
        with casting_anew(True):
            assert not torch.is_autocast_cache_enabled()
        assert torch.is_autocast_cache_enabled() is before
    finally:
        torch.set_autocast_cache_enabled(usual)


# -- the trainer ----------------------------------------------------------------------------------


class Noting(tiny.TwoPasses):
    """Two passes a step; notes whether autocast would remember weights."""

    def __init__(self) -> None:
        self.remembers: set[bool] = set()

    def losses(self, model, extras, batch):
        self.remembers.add(torch.is_autocast_cache_enabled())
        return super().losses(model, extras, batch)


QUIET = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True, "log_level": "error"}
QUIET["dataloader_pin_memory"] = False


def trained(folder, **options) -> RobustTrainer:
    """Train five steps of eight texts each."""
    numbers = {"per_device_train_batch_size": 8, "max_steps": 5, "learning_rate": 1e-2}
    args = TrainingArguments(str(folder), logging_steps=1, **numbers, **QUIET)
    data = {"train_dataset": tiny.encoded(40), "data_collator": tiny.collator()}
    run = RobustTrainer(tiny.model(), Noting(), args=args, **data, **options)
    run.train()
    return run


def curve(run: RobustTrainer) -> list[tuple[float, ...]]:
    lines = [line for line in run.state.log_history if "loss" in line]
    assert len(lines) == 5
    return [(line["loss"], line["plain"], line["headed"], line["grad_norm"]) for line in lines]


def test_on_a_cpu_a_recorded_run_is_a_plain_one(tmp_path) -> None:
    plain, asked = trained(tmp_path), trained(tmp_path, recorded=True)
    assert curve(asked) == curve(plain)
    for name, value in plain.model.state_dict().items():
        assert torch.equal(asked.model.state_dict()[name], value), name
    assert not asked.recorded
    assert (plain.objective.remembers, asked.objective.remembers) == ({True}, {False})
    assert torch.is_autocast_cache_enabled()


def test_recorded_steps_train_as_plain_ones_do(tmp_path, gpu, monkeypatch) -> None:
    plain = trained(tmp_path)
    monkeypatch.setattr(recording_trainer, "obstacle", lambda *_: None)
    built = []

    def build(take, trained):
        built.append(trained)
        return Recorder(recordable(gpu, take, trained), trained)

    monkeypatch.setattr(recording_trainer, "Recorder", build)
    played = trained(tmp_path, recorded=True)
    assert sum(graph.played for graph in gpu.graphs) >= 2
    assert curve(played) == curve(plain)
    for one, other in ((plain.model, played.model), (plain.extras, played.extras)):
        for name, value in one.state_dict().items():
            assert torch.equal(other.state_dict()[name], value), name
    assert played._recorder is None
    played.train()
    assert len(built) == 2  # recordings end with their training
