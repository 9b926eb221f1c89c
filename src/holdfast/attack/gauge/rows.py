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

ROWS = 16  # of a batch on a GPU
WIDTH, SLOTS = 16, 8
"""Tokens of a row, and candidates of a token, are multiples of these where rows share a batch."""


class Laid(NamedTuple):
    """A text, where its words lie, and which of those asked about it is."""

    number: int
    look: Look
    layout: Layout


def rows_at_once(victim: ModelVictim) -> int:
    """Return how many texts share a batch.

    One, if more would gain nothing or meddle with each other: on a CPU, and in a connected model,
    whose solves go on until all rows are done.
    """
    alone = victim.model.device.type == "cpu" or connected(victim.model) is not None
    return 1 if alone else ROWS


def width_of(text: Laid, rows: int) -> int:
    """Return the tokens of a row, padding included."""
    return rounded(len(text.layout.ids), WIDTH, rows)


def rounded(count: int, multiple: int, rows: int) -> int:
    """Return the size of an array of a text; alone it has its own."""
    return count if rows == 1 else -(-count // multiple) * multiple


def batches(
    texts: Sequence[Laid], rows: int, shape: Callable[[Laid], tuple[int, ...]]
) -> Iterator[tuple[list[Laid], tuple[int, ...]]]:
    """Yield texts of one shape together, so many at most, and their shape."""
    alike: dict[tuple[int, ...], list[Laid]] = {}
    for text in texts:
        alike.setdefault(shape(text), []).append(text)
    for of, group in alike.items():
        for first in range(0, len(group), rows):
            yield group[first : first + rows], of


def filled(rows: Sequence[NDArray[np.generic]], shape: tuple[int, ...], fill: int = 0) -> Tensor:
    """Return arrays in one tensor of this shape; rows beyond them are copies of the first."""
    whole = np.full(shape, fill, dtype=rows[0].dtype)
    for at in range(shape[0]):
        row = rows[at] if at < len(rows) else rows[0]
        whole[at][tuple(slice(size) for size in row.shape)] = row
    return torch.from_numpy(whole)


def model_inputs(
    victim: ModelVictim, texts: Sequence[Laid], rows: int, width: int
) -> dict[str, Tensor]:
    """Return what the model reads of these texts."""
    shape, device = (rows, width), victim.model.device
    padding: int = victim.tokenizer.pad_token_id or 0
    ids = [text.layout.ids for text in texts]
    batch = {
        "input_ids": filled(ids, shape, padding).to(device),
        "attention_mask": filled([np.ones_like(row) for row in ids], shape).to(device),
    }
    if "token_type_ids" in victim.tokenizer.model_input_names:
        types: list[Ints] = [text.layout.types for text in texts]
        batch["token_type_ids"] = filled(types, shape).to(device)
    return batch
