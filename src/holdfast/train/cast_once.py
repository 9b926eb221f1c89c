"""Weights cast to half precision once in a step, however often the step uses them.

Autocast would cast a weight at its first use and keep it. A recorded step cannot let it (see
`holdfast.train.recorded.casting_anew`), and then casts each weight at every use. A solver's steps
use the weights of a layer again and again, and a small model spends its time on launching kernels.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from holdfast.adversary.lowered import swapped


@contextmanager
def cast_once(model: nn.Module, dtype: torch.dtype | None) -> Iterator[None]:
    """Let the linear layers of a model have weights of this dtype, cast now; none: leave them.

    Derivatives reach the weights themselves, added up in that dtype over a step, as autocast's own
    are. Whatever runs the model must do so under autocast.
    """
    linear = [] if dtype is None else [m for m in model.modules() if isinstance(m, nn.Linear)]
    with swapped(linear, lambda weight: weight.to(dtype)):
        yield
