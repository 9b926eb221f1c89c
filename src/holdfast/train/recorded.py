"""A training step recorded once for each shape of batch and played again.

Python needs tens of milliseconds to launch the kernels of a small model's step, and a GPU a few to
run them; an adversary's ten ascents multiply both. A recording (a CUDA graph) is one launch. What
it reads and writes stays where it was when it was made: batches are copied in, and the gradients
are found in the same tensors every time.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.implicit import connected
from holdfast.solve.recording import Attempts, no_room, record, release_memory
from holdfast.train.config import Optimisation

Shape = tuple[tuple[str, tuple[int, ...]], ...]
Inputs = Mapping[str, Tensor]

WARM_UP, AGAIN = 2, 1
"""Steps before the first recording, and before each later one: libraries choose kernels and take
memory in the first, and load what a new shape needs."""
NARROW, WIDE = 8, 32
"""Batches are padded to multiples of these, so that they have few shapes."""
SHORT = 250  # steps of a training that recordings would fill; it has fewer, wider shapes
SHAPES = 16  # that are recorded at most; each keeps gradients of its own

NO_GPU = "the model is on no GPU"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Step:
    """What one step tells beside the gradients: its losses and their parts, on the device."""

    losses: list[Tensor]
    parts: dict[str, list[Tensor]]

    def copied(self) -> "Step":
        """Return the same in tensors of their own, which the next step does not write over."""
        return Step(
            [loss.clone() for loss in self.losses],
            {name: [value.clone() for value in values] for name, values in self.parts.items()},
        )


@dataclass(frozen=True, eq=False)
class Recording:
    """The recording of one shape: what it reads, what it writes."""

    graph: torch.cuda.CUDAGraph
    inputs: dict[str, Tensor]
    step: Step
    gradients: list[tuple[nn.Parameter, Tensor]]

    def play(self, inputs: Inputs) -> Step:
        """Take the step on these inputs; the gradients are those of the parameters then."""
        for name, tensor in inputs.items():
            self.inputs[name].copy_(tensor, non_blocking=True)
        self.graph.replay()
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
        return self.step.copied()


class Recorder:
    """Takes training steps on one GPU, by a recording wherever one can be made."""

    def __init__(self, take: Callable[[Inputs], Step], trained: Iterable[nn.Parameter]) -> None:
        """`take` runs a step, backward passes and all; `trained` are the parameters it moves."""
        self._take, self._trained = take, list(trained)
        self._recorded: dict[Shape, Recording] = {}
        self._seen: Counter[Shape] = Counter()
        self._pool: Any = None
        self._attempts = Attempts()

    def __call__(self, inputs: Inputs) -> Step:
        """Take one step; the gradients of all parameters must be none before."""
        shape = tuple((name, tuple(tensor.shape)) for name, tensor in inputs.items())
        self._seen[shape] += 1
        often = self._seen[shape] > 1  # one that comes once is not worth recording
        wanted = often and self._attempts.due(shape, self._seen[shape])
        if shape not in self._recorded and wanted and len(self._recorded) < SHAPES:
            self._record(shape, inputs)
        if shape in self._recorded:
            return self._recorded[shape].play(inputs)
        try:
            return self._take(inputs)
        except RuntimeError as error:
            if not self._recorded or not no_room(error):
                raise
        self._make_room()  # only here: an error that is being dealt with holds its step's memory
        return self._take(inputs)

    def _make_room(self) -> None:
        """Give up the recordings, whose memory nothing else can use.

        For good: the steps that filled the card come again.
        """
        _log.warning(
            "The GPU's memory is full; %d recordings are dropped, and steps run as they are.",
            len(self._recorded),
        )
        self._recorded.clear()
        self._pool, self._attempts = None, Attempts(possible=False)
        self._forget_gradients()
        release_memory()

    def _record(self, shape: Shape, inputs: Inputs) -> None:
        """Record one shape, if that can be done."""
        held = {name: tensor.clone() for name, tensor in inputs.items()}
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        try:
            graph, step = record(
                lambda: self._take(held), self._pool, warm_up=lambda: self._warm_up(held)
            )
        except RuntimeError as error:
            self._break_off(shape, error)
        else:
            gradients = [(p, p.grad) for p in self._trained if p.grad is not None]
            self._recorded[shape] = Recording(graph, held, step, gradients)
        finally:
            self._forget_gradients()

    def _break_off(self, shape: Shape, error: RuntimeError) -> None:
        again_at = 2 * self._seen[shape] + 1
        told = self._attempts.broke_off(shape, error, again_at=again_at)
        _log.warning("The step cannot be recorded on the GPU and runs as it is%s", told)
        if not self._recorded:
            self._pool = None  # of a recording that there is none of
        _free_generator()

    def _warm_up(self, inputs: Inputs) -> None:
        for _ in range(AGAIN if self._recorded else WARM_UP):
            self._take(inputs)
            self._forget_gradients()

    def _forget_gradients(self) -> None:
        for parameter in self._trained:
            parameter.grad = None


def _free_generator() -> None:
    """Let random numbers be drawn again: a recording that breaks off leaves them locked."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    generator.graphsafe_set_state(generator.clone_state())


@contextmanager
def casting_anew(wanted: bool) -> Iterator[None]:
    """Let autocast cast weights at every use, where `wanted`.

    It keeps a cast weight as long as its context is open. A recording that reads what was kept
    outside of it would go on reading the weights of that time.
    """
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(before and not wanted)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def is_wanted(settings: Optimisation) -> bool:
    """Whether a run is set up for recordings: what else it takes shows when its model is there."""
    return settings.recorded and torch.cuda.is_available()


def width(steps: float) -> int:
    """Return what the widths of batches are multiples of, in a training of so many steps."""
    return WIDE if steps < SHORT else NARROW


def obstacle(model: PreTrainedModel, processes: int, accumulated: int) -> str | None:
    """Return why the steps of a run cannot be recorded; none: they can, as far as is known."""
    handle = connected(model)
    if model.device.type != "cuda":
        return NO_GPU
    if processes > 1 or accumulated > 1:
        return "gradients are gathered over several processes or batches"
    if handle is not None and handle.connection.dropout == "frozen":
        return 'the connection draws dropout masks again (its dropout is "frozen")'
    return None
