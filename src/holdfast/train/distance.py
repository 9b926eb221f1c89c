"""How far training has carried a model from its pre-trained weights, as in RIFT's Figure 2."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.anchors import Reference
from holdfast.solve.solution import at_least_float32

_PIECE = 1 << 22  # weights looked at at once: 16 MiB of differences


def relative_distance(model: PreTrainedModel, reference: Reference) -> float:
    """Return |w - w0| / |w0| over the base model."""
    pairs = ((parameter, value) for _, parameter, value in reference.pairs(model))
    moved, size = _squares(pairs).tolist()
    return float((moved / size) ** 0.5)


def layer_distances(model: PreTrainedModel, reference: Reference) -> dict[str, float]:
    """Return the same for each numbered layer and for what lies outside them, in order.

    A part whose pre-trained weights are all zero is left out: nothing is relative to zero.
    """
    parts: defaultdict[str, list[tuple[Tensor, Tensor]]] = defaultdict(list)
    for name, parameter, value in reference.pairs(model):
        parts[layer_of(name)].append((parameter, value))
    squares = torch.stack([_squares(pairs) for pairs in parts.values()]).tolist()
    named = zip(parts, squares, strict=True)
    return {name: float((moved / size) ** 0.5) for name, (moved, size) in named if size > 0}


def layer_of(name: str) -> str:
    """Return the part a parameter belongs to: `encoder.layer.3`, `embeddings`."""
    words = name.split(".")
    numbers = [place for place, word in enumerate(words) if word.isdecimal()]
    return ".".join(words[: numbers[0] + 1]) if numbers else words[0]


@torch.no_grad()
def _squares(pairs: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    """Return |w - w0|^2 and |w0|^2, on the device: the host waits once, for the result."""
    sums = [
        torch.stack([(now - before).square().sum(), before.square().sum()])
        for parameter, value in pairs
        for now, before in _pieces(parameter, value)
    ]
    return torch.stack(sums).sum(0)


def _pieces(parameter: Tensor, value: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield both a piece at a time: the difference of an embedding table would be a large one."""
    now, before = parameter.flatten(), value.flatten()
    for start in range(0, len(now), _PIECE):
        piece = slice(start, start + _PIECE)
        yield at_least_float32(now[piece]), at_least_float32(before[piece])
