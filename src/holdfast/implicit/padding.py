"""Which tokens of a layer's call are real, read off the attention mask the layer was given.

Nothing is noted at the model's entry: gradient checkpointing runs a layer again after other
batches have passed, and it must find the mask of its own batch.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def real_tokens(arguments: Mapping[str, Any], hidden: Tensor) -> Tensor | None:
    """Return (batch, tokens, 1), true on real tokens; None when all of them are."""
    # a decoder fed with its encoder's tokens, as T5 for classification, shares their padding
    masks = (arguments.get("attention_mask"), arguments.get("encoder_attention_mask"))
    real = None
    for mask in masks:
        if mask is not None and mask.shape[-1] == hidden.shape[1]:
            visible = _visible_to_itself(mask)
            real = visible if real is None else real & visible
    return None if real is None else real.expand(hidden.shape[:2]).unsqueeze(2)


def _visible_to_itself(mask: Tensor) -> Tensor:
    """Return (batch or 1, tokens): padding is what no token may look at, not even itself."""
    if mask.dim() == 4:
        square = mask[:, 0]
        one_row = square.shape[1] == 1
        mask = square[:, 0] if one_row else square.diagonal(dim1=1, dim2=2)
    # additive masks are 0 where one may look, others are 1 or True: each time the largest value
    return mask == mask.amax()
