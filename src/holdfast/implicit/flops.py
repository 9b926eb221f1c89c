"""What a forward costs: by the paper's convention, and as really counted.

The paper's Tables 3, 5 and 6 follow from three rules: only the matrix products of the layers count,
a multiplication and an addition are 2 FLOPs; one sequence of 128 tokens; and each of the T inner
iterations of a connected layer is charged one evaluation of that layer. With width d, feed-forward
width f and sequence length L, k of n layers connected, that is

    n * (2 L (4 d^2 + 2 d f) + 4 L^2 d) * (1 + T k / n)

An inner iteration of gradient descent also runs a backward, which the convention leaves out.
`count_flops` counts every matrix product that PyTorch runs instead, that one included.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from torch.utils.module_tracker import ModuleTracker
from transformers import PretrainedConfig, PreTrainedModel

from holdfast.errors import InputError

PAPER_LENGTH = 128


@dataclass(frozen=True)
class LayerCost:
    """What decides the price of one layer: its matrices and the width of its attention."""

    weights: int
    attention_width: int

    def flops(self, length: int) -> int:
        """Return the FLOPs of one evaluation on one sequence of `length` tokens."""
        return 2 * length * self.weights + 4 * length**2 * self.attention_width


def paper_flops(
    config: PretrainedConfig,
    iterations: Mapping[int, float] = MappingProxyType({}),
    *,
    length: int = PAPER_LENGTH,
) -> float:
    """Return the FLOPs of a forward by the paper's convention.

    `iterations` gives T, the evaluations beyond the first, of each connected layer, counted from
    1: `dict.fromkeys((4, 5, 6), 5)` is IM-BERT on layers 4-6.
    """
    costs = layer_costs(config)
    if outside := sorted(set(iterations) - set(range(1, len(costs) + 1))):
        raise InputError(f"Layer {outside[0]} is not in this model; it has layers 1-{len(costs)}.")
    return sum(
        cost.flops(length) * (1 + iterations.get(number, 0))
        for number, cost in enumerate(costs, start=1)
    )


_FEED_FORWARD_WIDTH = {"distilbert": "hidden_dim", "gpt2": "n_inner", "t5": "d_ff"}
_PLAIN = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "mpnet", "deberta-v2")
_GATED = ("modernbert", "llama", "mistral", "qwen2", "qwen3")


def layer_costs(config: PretrainedConfig) -> tuple[LayerCost, ...]:
    """Return the cost of each layer in depth order; encoder before decoder."""
    known = (*_PLAIN, *_GATED, *_FEED_FORWARD_WIDTH)
    if config.model_type not in known:
        raise InputError(
            f"The shape of a {config.model_type!r} layer is not known here; use count_flops, "
            f"which runs the model, or one of {', '.join(known)}."
        )
    attention, width = _attention(config)
    layer = LayerCost(attention + _feed_forward(config), width)
    if config.model_type != "t5":
        return (layer,) * int(config.num_hidden_layers)
    # A T5 decoder layer attends twice: to itself and to the encoder.
    decoder = LayerCost(layer.weights + attention, 2 * width)
    return (layer,) * int(config.num_layers) + (decoder,) * int(config.num_decoder_layers)


def _attention(config: PretrainedConfig) -> tuple[int, int]:
    """Return the entries of the query, key, value and output matrices, and the heads' width."""
    width, heads = int(config.hidden_size), int(config.num_attention_heads)
    head_width = int(getattr(config, "head_dim", None) or width // heads)
    key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    return 2 * width * head_width * (heads + key_heads), heads * head_width


def _feed_forward(config: PretrainedConfig) -> int:
    name = _FEED_FORWARD_WIDTH.get(config.model_type, "intermediate_size")
    width = int(config.hidden_size)
    inner = int(getattr(config, name) or 4 * width)
    gated = config.model_type in _GATED or getattr(config, "is_gated_act", False)
    return (3 if gated else 2) * width * inner


@dataclass(frozen=True)
class FlopCount:
    """FLOPs that PyTorch really ran; a training step is the forward and the backward."""

    forward: int
    training_step: int


def count_flops(model: PreTrainedModel, batch: Mapping[str, Tensor]) -> FlopCount:
    """Run `batch` and count its matrix products, the inner backward of a solver included.

    Without labels in the batch the sum of the logits stands in for the loss: what is summed at the
    end does not change the count. Gradients of the parameters are left as they were.
    """
    with torch.no_grad(), flop_counter() as forward:
        model(**batch)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.enable_grad(), flop_counter() as step:
        output = model(**batch)
        loss = output.logits.float().sum() if output.get("loss") is None else output.loss
        torch.autograd.grad(loss, trainable, allow_unused=True)
    return FlopCount(forward.get_total_flops(), step.get_total_flops())


def flop_counter() -> FlopCounterMode:
    """Return a counter that sees fused attention on a CPU and derivatives inside a solve."""
    counter = FlopCounterMode(display=False, custom_mapping=_cpu_attention())
    counter.mod_tracker = _NoModules()
    return counter


class _NoModules(ModuleTracker):
    """Watches no modules: the hooks that do so fail inside the inner `autograd.grad` of Descent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _cpu_attention() -> dict[Any, Callable[..., int]]:
    """Return the counts of the CPU's fused attention, which PyTorch's counter takes for free."""
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    return {forward: _fused_attention_flops, backward: _fused_attention_backward_flops}


Shape = tuple[int, ...]


def _fused_attention_flops(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    *batch, queries, width = query
    products = 2 * math.prod(batch) * queries * key[-2]
    return products * (width + value[-1])


def _fused_attention_backward_flops(
    _gradient: Shape, query: Shape, key: Shape, value: Shape, *_: Any, **__: Any
) -> int:
    # The scores are computed again, then one product each for the gradients of the scores (width
    # of the values), of the queries and keys (their width) and of the values.
    *batch, queries, width = query
    products = 2 * math.prod(batch) * queries * key[-2]
    return products * (3 * width + 2 * value[-1])
