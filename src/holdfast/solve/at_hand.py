"""Keeping what a derivative inside a solve needs, even under gradient checkpointing."""

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


def kept_at_hand() -> saved_tensors_hooks:
    """Return a context in which autograd keeps the tensors it saves as they are.

    Non-reentrant checkpointing would drop them, and run the layer and its solve from the beginning
    again for every single derivative taken inside a solve to get them back.
    """
    return saved_tensors_hooks(_as_it_is, _as_it_is)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor
