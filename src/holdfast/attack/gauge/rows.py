"""Texts that are measured side by side, as the rows of one batch.

On a GPU one text costs as much as sixteen: its time goes into launching kernels. What is found must
not depend on which other examples are under attack, so a text's arrays have the same shape whoever
stands beside it: the rows of a batch are of one width, and always as many.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from holdfast.attack.core import Look
from holdfast.attack.gauge.layout import Ints, Layout
from holdfast.implicit import connected
from holdfast.victim import ModelVictim

ROWS = 16  # of a batch on a GPU, at most
TOKENS, CANDIDATES = 4096, 32768  # of a batch, at most: wide rows, or many candidates, are fewer
SLOTS = 8
"""The candidates of a token are padded to a multiple of it where rows share a batch."""


class Laid(NamedTuple):
    """A text, where its words lie, and which of those asked about it is."""

    number: int
    look: Look
    layout: Layout


class Shape(NamedTuple):
    """Of a batch."""

    rows: int
    width: int
    slots: int
    full: bool
    """Whether a text fills its row: where all do, libraries leave the mask out and so compute
    otherwise."""


def shape_of(victim: ModelVictim, text: Laid, slots: int = 1) -> Shape:
    """Return the shape in which a text is measured; `slots` are the candidates of a token.

    It has a batch to itself where more would gain nothing or meddle with it: on a CPU, and in a
    connected model, whose solves go on until all rows are done.
    """
    length = len(text.layout.ids)
    if victim.model.device.type != "cuda" or connected(victim.model) is not None:
        return Shape(1, length, slots, full=True)
    width = int(victim.shape.widths(np.array([length]))[0])
    slots = 1 if slots == 1 else -(-slots // SLOTS) * SLOTS
    rows = max(1, min(ROWS, TOKENS // width, CANDIDATES // (width * slots)))
    return Shape(rows, width, slots, full=length == width)


def batches(
    texts: Sequence[Laid], shape: Callable[[Laid], Shape]
) -> Iterator[tuple[list[Laid], Shape]]:
    """Yield texts of one shape together, as many as it has rows, and the shape."""
    alike: dict[Shape, list[Laid]] = {}
    for text in texts:
        alike.setdefault(shape(text), []).append(text)
    for of, group in alike.items():
        for first in range(0, len(group), of.rows):
            yield group[first : first + of.rows], of


def filled(rows: Sequence[NDArray[np.generic]], shape: tuple[int, ...], fill: int = 0) -> Tensor:
    """Return arrays in one tensor of this shape; rows beyond them are copies of the first."""
    whole = np.full(shape, fill, dtype=rows[0].dtype)
    for at in range(shape[0]):
        row = rows[at] if at < len(rows) else rows[0]
        whole[at][tuple(slice(size) for size in row.shape)] = row
    return torch.from_numpy(whole)


def model_inputs(victim: ModelVictim, texts: Sequence[Laid], of: Shape) -> dict[str, Tensor]:
    """Return what the model reads of these texts."""
    shape, device = (of.rows, of.width), victim.model.device
    ids = [text.layout.ids for text in texts]
    batch = {
        "input_ids": filled(ids, shape, victim.shape.padding).to(device),
        "attention_mask": filled([np.ones_like(row) for row in ids], shape).to(device),
    }
    if "token_type_ids" in victim.tokenizer.model_input_names:
        types: list[Ints] = [text.layout.types for text in texts]
        batch["token_type_ids"] = filled(types, shape).to(device)
    return batch
