"""What a model costs: weights, operations, time and memory of one text, solves included."""

import statistics
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from holdfast.errors import InputError
from holdfast.implicit import unread
from holdfast.implicit.flops import flop_counter
from holdfast.record import Metric
from holdfast.victim import ModelVictim, Victim
from holdfast.victim.reader import Reader
from holdfast.victim.reading import ID_MASK, TYPE_SHIFT

_WARM_UP, _LEAST, _MOST, _SECONDS = 3, 5, 50, 5.0  # forward passes, and when they are enough


def cost(victim: Victim, texts: Sequence[tuple[str, ...]]) -> tuple[Metric, ...]:
    """Return parameters, gflops, latency_ms and memory_mib; nothing for a victim without a model.

    One text runs alone, without its tokenisation: of the given ones the one whose number of
    tokens is the median. The memory is known on a GPU only; elsewhere it has no value.
    """
    if not isinstance(victim, ModelVictim):
        return ()
    typical = [_typical(victim, texts)]
    inputs = [model_inputs(victim, typical, reader) for reader in victim.readers]
    with unread(victim.model):
        return (
            Metric("parameters", float(sum(p.numel() for p in victim.model.parameters()))),
            Metric("gflops", _flops(victim, inputs) / 1e9),
            Metric("latency_ms", 1e3 * _seconds(victim, inputs)),
            Metric("memory_mib", _mebibytes(victim, inputs)),
        )


def _typical(victim: ModelVictim, texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if not texts:
        raise InputError("There is no text to measure the cost on; give at least one.")
    lengths = [len(row) for row in victim.tokenise(texts)]
    return texts[int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])]


def model_inputs(
    victim: ModelVictim, texts: Sequence[tuple[str, ...]], reader: Reader | None = None
) -> dict[str, Tensor]:
    """Return texts as the victim's model is given them, padded at their end, on its device.

    Of a victim that reads them twice, as the `reader` does; none: its first.
    """
    rows = (reader or victim.reader).tokenise(texts)
    width = max(map(len, rows))
    tokens = torch.full((len(rows), width), victim.shape.padding)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    inputs = {"input_ids": tokens & ID_MASK, "attention_mask": mask}
    if "token_type_ids" in victim.tokenizer.model_input_names:
        inputs["token_type_ids"] = tokens >> TYPE_SHIFT
    return {name: value.to(victim.model.device) for name, value in inputs.items()}


Inputs = Sequence[dict[str, Tensor]]
"""One for each reading of a text."""


@torch.no_grad()
def _forward(victim: ModelVictim, inputs: Inputs) -> None:
    device = victim.model.device.type
    with torch.autocast(device, torch.bfloat16, victim.precision == "bf16"):
        for reading in inputs:
            victim.model(**reading)


def _flops(victim: ModelVictim, inputs: Inputs) -> int:
    with flop_counter() as counter:
        _forward(victim, inputs)
    return int(counter.get_total_flops())


def _seconds(victim: ModelVictim, inputs: Inputs) -> float:
    """Return the median of some passes, after a few that warm the device up."""
    for _ in range(_WARM_UP):
        _forward(victim, inputs)
    taken: list[float] = []
    while len(taken) < _LEAST or (len(taken) < _MOST and sum(taken) < _SECONDS):
        _wait(victim)
        begun = time.perf_counter()
        _forward(victim, inputs)
        _wait(victim)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def _wait(victim: ModelVictim) -> None:
    if victim.model.device.type == "cuda":
        torch.cuda.synchronize(victim.model.device)


def _mebibytes(victim: ModelVictim, inputs: Inputs) -> float | None:
    """Return the model's own weights and what a pass takes beside them; none off a GPU."""
    device = victim.model.device
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)  # other models lie there too
    _forward(victim, inputs)
    taken = torch.cuda.max_memory_allocated(device) - before
    weights = [*victim.model.parameters(), *victim.model.buffers()]
    return (taken + sum(w.numel() * w.element_size() for w in weights)) / 2**20
