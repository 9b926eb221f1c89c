"""Distances between the predictions of two forwards, summed over classes, one for each example."""

from torch import Tensor


def kl(of: Tensor, against: Tensor) -> Tensor:
    """Return KL(p || q) of each example, p from the logits `of`, q from the logits `against`.

    Computed in fp32; gradients flow into both sides, detach the one that is to stand still.
    """
    p, q = of.float().log_softmax(dim=1), against.float().log_softmax(dim=1)
    return (p.exp() * (p - q)).sum(dim=1)


def symmetric_kl(first: Tensor, second: Tensor) -> Tensor:
    """Return KL(p || q) + KL(q || p) of each example."""
    return kl(first, second) + kl(second, first)
