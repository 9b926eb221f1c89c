"""In what arithmetic a victim's model answers. Read by commands, so without torch."""

from typing import Literal

from holdfast.errors import InputError

Precision = Literal["fp32", "bf16", "fp16"]
"""bf16: matrix products are, the rest stays single (autocast). fp16: everything is, the weights
too: nearer to fp32 than bf16 is, and quicker on a GPU, but no gradient can be followed in it."""

NOISE: dict[Precision, float] = {"fp32": 1e-3, "bf16": 0.1, "fp16": 0.03}
"""How far a log-probability may move from one machine to another."""


def require_weights(precision: Precision, *, half: bool) -> None:
    """Refuse a model that would not answer in the precision that records will say."""
    if half != (precision == "fp16"):
        weights = "of torch.float16" if half else "in single precision"
        raise InputError(
            f"The model has weights {weights} and is to answer in {precision}; give a model in "
            "half precision (model.half()) and the precision fp16 together, or neither."
        )


def require_gradients(precision: Precision) -> None:
    """Refuse to follow gradients where half precision rounds the smaller ones to nothing."""
    if precision == "fp16":
        raise InputError(
            "Gradients cannot be followed in fp16, which rounds small ones to nothing; take the "
            "precision bf16 or fp32, or leave out the adaptive check and attacks that need them."
        )
