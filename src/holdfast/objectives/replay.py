"""Several forwards under the same dropout masks, differentiated one after the other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from holdfast.errors import InputError
from holdfast.implicit.layer_call import RandomState


class SameMasks:
    """Lets every forward inside `drawing()` draw the random numbers that the first one drew.

    FreeLB's authors keep the dropout masks for all passes over a batch: else the passes would not
    be points of one path, but of as many sub-networks (their Table 4). Outside, the generators go
    on as if there had been the first forward only.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._begin: RandomState | None = None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Run one forward."""
        if self._begin is None:
            self._begin = RandomState.now(self._device)
            yield
            return
        after = RandomState.now(self._device)
        self._begin.restore()
        try:
            yield
        finally:
            after.restore()


def gradient_of(delta: Tensor) -> Tensor:
    """Return what the backward pass of the loss just yielded left in the perturbation."""
    if delta.grad is None:
        raise InputError(
            "The loss has not been differentiated, so there is no direction to move the token "
            "vectors in; call backward on each loss before the next one is asked for."
        )
    # fp16's loss scaler finds its scale by overflowing, and leaves out the step; the next pass
    # over the batch has to stay a number until then
    return delta.grad.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
