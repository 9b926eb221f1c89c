"""Which tokens of a layer's call are real, read off the attention mask the layer was given.

Nothing is noted at the model's entry: gradient checkpointing runs a layer again after other
batches have passed, and it must find the mask of its own batch.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from holdfast.implicit.layers import find_stacks


def real_tokens(arguments: Mapping[str, Any], hidden: Tensor) -> Tensor | None:
    """Return (batch, tokens, 1), true on real tokens; None when all of them are."""
    mask = arguments.get("attention_mask")
    if mask is None or mask.shape[-1] != hidden.shape[1]:
        return None
    return _visible_to_itself(mask).expand(hidden.shape[:2]).unsqueeze(2)


def _visible_to_itself(mask: Tensor) -> Tensor:
    """Return (batch or 1, tokens): padding is what no token may look at, not even itself."""
    if mask.dim() == 4:
        square = mask[:, 0]
        one_row = square.shape[1] == 1
        mask = square[:, 0] if one_row else square.diagonal(dim1=1, dim2=2)
    # additive masks are 0 where one may look, others are 1 or True: each time the largest value
    return mask == mask.amax()


def share_padding(model: PreTrainedModel) -> list[RemovableHandle]:
    """Let a decoder that is fed with its encoder's tokens know which of them are padding."""
    if len(find_stacks(model)) == 1:
        return []
    return [model.base_model.register_forward_pre_hook(SharedPadding(model), with_kwargs=True)]


class SharedPadding:
    """Gives a decoder its encoder's attention mask where both read the same tokens.

    T5 for classification feeds its decoder with the encoder's tokens, one place later, and no
    mask. Padding at the end is hidden from the tokens before it by causality in any case, so the
    mask changes no result; it only says what is padding. A decoder with tokens of its own, as in
    translation, has its own padding, which is for its caller to say.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.names = list(inspect.signature(model.base_model.forward).parameters)

    def __call__(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fill in what was not said (a forward pre-hook)."""
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        mask, unsaid = given.get("attention_mask"), given.get("decoder_attention_mask") is None
        if mask is None or not unsaid or "decoder_attention_mask" in self.names[: len(args)]:
            return args, kwargs
        if not _reads_the_same(given.get("input_ids"), given.get("decoder_input_ids"), mask):
            return args, kwargs
        return args, {**kwargs, "decoder_attention_mask": mask}


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _reads_the_same(ids: Tensor | None, fed: Tensor | None, mask: Tensor) -> bool:
    """Tell whether `fed` is `ids` one place later, with padding only at the end."""
    if ids is None or fed is None or not ids.shape == fed.shape == mask.shape:
        return False
    same, ends = fed[:, 1:] == ids[:, :-1], mask[:, 1:] <= mask[:, :-1]
    return bool((same & ends).all())
