"""Recordings of forward passes, with a GPU that only counts: who plays what, what breaks off."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch
from attack_tiny import model
from text_tokenizers import wordpiece

from holdfast.implicit import connect, recommended
from holdfast.victim import ModelVictim
from holdfast.victim.replay import WORTH, Replay

DEVICE = torch.device("cpu")


class Graph:
    """Plays by doing again what was done while it was recorded."""

    def __init__(self) -> None:
        self.played = 0

    def replay(self) -> None:
        self.played += 1


@pytest.fixture
def gpu(monkeypatch):
    """A GPU whose streams are names; `stream` is the one in use."""
    state = SimpleNamespace(stream="own", graphs=[])

    @contextmanager
    def on(stream):
        before, state.stream = state.stream, stream
        yield
        state.stream = before

    class Recording:
        def __init__(self, graph, pool, stream) -> None:
            self.stream = stream
            state.graphs.append(graph)

        def __enter__(self) -> None:
            state.recording, state.stream = True, self.stream

        def __exit__(self, kind, error, trace) -> None:
            state.recording = False
            if kind is None:
                state.stream = "own"  # torch does not get so far where the end of it fails

    def set_stream(stream) -> None:
        state.stream = stream.name

    def named(name):
        return SimpleNamespace(name=name, wait_stream=lambda other: None)

    fakes = {
        "device": lambda device: nullcontext(),
        "Stream": lambda: named("aside"),
        "current_stream": lambda: named(state.stream),
        "stream": on,
        "set_stream": set_stream,
        "CUDAGraph": Graph,
        "graph": Recording,
        "graph_pool_handle": lambda: "pool",
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    state.recording = False
    return state


def batch(width: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(2, width, dtype=torch.int32), torch.full((2,), width)


def test_a_shape_is_recorded_once_and_then_played(gpu) -> None:
    calls = []
    replay = Replay(lambda t, n: calls.append(t.shape) or t.sum(1), DEVICE, possible=True)
    for width in (4, 4, 8, 4, 4):
        replay(*batch(width))
    # the first pass of all, a shape as it is until it came often enough, and then to warm up and
    # to record it
    assert [shape[1] for shape in calls] == [4, 4, 4, 8, 4, 4]
    assert [graph.played for graph in gpu.graphs] == [2]


def test_what_a_recording_reads_is_the_batch_at_hand(gpu) -> None:
    replay = Replay(lambda t, n: t, DEVICE, possible=True)
    for _ in range(WORTH):
        replay(*batch(4))
    tokens, lengths = batch(4)
    assert torch.equal(replay(tokens * 7, lengths), tokens * 7)


def test_a_model_that_cannot_be_recorded_runs_as_it_is_on_the_stream_it_was(gpu) -> None:
    def forward(tokens, lengths):
        if gpu.recording:
            raise RuntimeError("operation not permitted when stream is capturing")
        return tokens.sum(1)

    replay = Replay(forward, DEVICE, possible=True)
    for _ in range(WORTH):
        assert replay(*batch(4)).tolist() == [4, 4]
    assert gpu.stream == "own"
    for _ in range(WORTH):
        replay(*batch(8))
    assert len(gpu.graphs) == 1  # it is not tried again


def test_a_shape_that_was_recorded_is_still_played_after_another_failed(gpu) -> None:
    def forward(tokens, lengths):
        if gpu.recording and tokens.shape[1] == 8:
            raise RuntimeError("out of memory")
        return tokens.sum(1)

    replay = Replay(forward, DEVICE, possible=True)
    for width in (4, 4, 4, 8, 8, 8, 4):
        replay(*batch(width))
    assert gpu.graphs[0].played == 2


def test_a_card_that_was_full_is_tried_again_when_a_shape_came_twice_as_often(gpu) -> None:
    def forward(tokens, lengths):
        if gpu.recording and len(gpu.graphs) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return tokens.sum(1)

    replay = Replay(forward, DEVICE, possible=True)
    tried = []
    for _ in range(2 * WORTH):
        replay(*batch(4))
        tried.append(len(gpu.graphs))
    assert tried == [0, 0, 1, 1, 1, 2]
    assert gpu.graphs[1].played == 1


def test_recordings_end_when_the_model_is_connected(gpu) -> None:
    tokenizer = wordpiece()
    victim = ModelVictim(model(tokenizer), tokenizer)
    plain = victim._replay()
    assert victim._replay() is plain
    handle = connect(victim.model, recommended)
    assert victim._replay() is not plain
    handle.remove()
    assert victim._replay() is not plain
