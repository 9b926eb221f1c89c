"""Matrix products on a CPU that give a row the same bits however few rows stand beside it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import linear, pad
from torch.overrides import TorchFunctionMode

FEWEST_ROWS = 16
"""From here on the kernels add in one order; below it is another, which depends on the number."""


class SteadyRows(TorchFunctionMode):
    """While it is entered, products of fewer rows are done with rows of zeros beside them.

    A classifier's head sees one row for each text: without this a batch of few texts would have
    to be filled with copies, which run through the whole model.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, a product in its own way."""
        at = _PRODUCTS.get(func)
        if at is None or (count := args[at].shape[:-1].numel()) >= FEWEST_ROWS:
            return func(*args, **(kwargs or {}))
        rows = args[at].reshape(count, -1)
        wide = pad(rows, (0, 0, 0, FEWEST_ROWS - count))
        found = func(*args[:at], wide, *args[at + 1 :], **(kwargs or {}))[:count]
        return found.reshape(*args[at].shape[:-1], -1)


_PRODUCTS: dict[Callable[..., Any], int] = {linear: 0, torch.addmm: 1}
"""Which argument has a row for each text or token; `addmm` is what GPT-2 calls."""
