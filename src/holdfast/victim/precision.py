"""In what arithmetic a victim's model answers. Read by commands, so without torch."""

from typing import Literal

from holdfast.errors import InputError

Precision = Literal["fp32", "bf16", "fp16"]
"""bf16: matrix products are, the rest stays single (autocast). fp16: everything is, the weights
too: nearer to fp32 than bf16 is, and quicker on a GPU, but no gradient can be followed in it."""

NOISE: dict[Precision, float] = {"fp32": 1e-3, "bf16": 0.1, "fp16": 0.03}
"""How far a log-probability may move from one machine to another."""

WEIGHTS: dict[Precision, str] = {"fp32": "float32", "bf16": "float32", "fp16": "float16"}
"""What torch calls the weights that a precision needs."""

_TURN = {"float32": "model.float()", "float16": "model.half()"}


def require_weights(precision: Precision, dtype: str) -> None:
    """Refuse a model that would not answer in the precision that records will say.

    `dtype` is that of its weights, as torch writes it: torch.float32.
    """
    own, needed = dtype.removeprefix("torch."), WEIGHTS[precision]
    if own != needed:
        other: Precision = "fp32" if precision == "fp16" else "fp16"
        raise InputError(
            f"The model has weights of {own} and is to answer in {precision}, which needs weights "
            f"of {needed}; call {_TURN[needed]}, or give weights of {WEIGHTS[other]} and the "
            f"precision {other} together."
        )


def require_gradients(precision: Precision) -> None:
    """Refuse to follow gradients where half precision rounds the smaller ones to nothing."""
    if precision == "fp16":
        raise InputError(
            "Gradients cannot be followed in fp16, which rounds small ones to nothing; take the "
            "precision bf16 or fp32, or leave out the adaptive check and attacks that need them."
        )
