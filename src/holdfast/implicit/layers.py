"""Where each architecture keeps its layers."""

from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from holdfast.errors import InputError

FAMILIES: dict[str, tuple[tuple[str, str], ...]] = {
    # model type: (the module that is given the attention mask, its list of layers), in depth order
    "bert": (("", "encoder.layer"),),
    "roberta": (("", "encoder.layer"),),
    "xlm-roberta": (("", "encoder.layer"),),
    "camembert": (("", "encoder.layer"),),
    "electra": (("", "encoder.layer"),),
    "mpnet": (("", "encoder.layer"),),
    "deberta-v2": (("", "encoder.layer"),),
    "distilbert": (("", "transformer.layer"),),
    "modernbert": (("", "layers"),),
    "gpt2": (("", "h"),),
    "llama": (("", "layers"),),
    "mistral": (("", "layers"),),
    "qwen2": (("", "layers"),),
    "qwen3": (("", "layers"),),
    "t5": (("encoder", "block"), ("decoder", "block")),
}

REFUSED: dict[str, str] = {
    "albert": (
        "ALBERT uses one layer again and again, so its layers cannot be connected one by one; "
        "use a model that has a layer of its own at every depth, such as BERT or RoBERTa"
    ),
}


_POSITIONS_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")


@dataclass(frozen=True)
class Stack:
    """A run of layers that see the same tokens, under the module that is given their mask."""

    owner: nn.Module
    layers: tuple[nn.Module, ...]


def find_stacks(model: PreTrainedModel) -> list[Stack]:
    """Return the model's stacks of layers; an encoder-decoder has two, the encoder's first."""
    family = model.config.model_type
    if family in REFUSED:
        raise InputError(f"{REFUSED[family]}.")
    if family not in FAMILIES:
        raise InputError(
            f"Models of type {family!r} are not supported yet; "
            f"supported are {', '.join(sorted(FAMILIES))}."
        )
    base = model.base_model
    return [_stack(base, *where) for where in FAMILIES[family] if _has(base, where[0])]


def find_layers(model: PreTrainedModel) -> list[nn.Module]:
    """Return the model's layers from input to output; layer 1 of the paper is the first."""
    return [layer for stack in find_stacks(model) for layer in stack.layers]


def positions(model: PreTrainedModel) -> int | None:
    """Return how many tokens the model has positions for; None when there is no limit."""
    limit: int | None = getattr(model.config, "max_position_embeddings", None)
    # these begin to count after the padding token, and so have fewer positions than rows
    if limit is not None and model.config.model_type in _POSITIONS_AFTER_PADDING:
        embeddings: Any = model.base_model.get_submodule("embeddings")
        taken: int = embeddings.padding_idx + 1
        return limit - taken
    return limit


def _has(base: nn.Module, name: str) -> bool:
    """Tell whether the part exists: an encoder-only T5 has no decoder."""
    return not name or name in dict(base.named_children())


def _stack(base: nn.Module, owner_name: str, layers_name: str) -> Stack:
    owner = base.get_submodule(owner_name)
    return Stack(owner=owner, layers=tuple(owner.get_submodule(layers_name).children()))
