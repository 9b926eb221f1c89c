"""Tiny random classifiers, one of each supported family, and batches to feed them.

The weights are drawn larger than usual: with the usual ones a random layer hardly moves its
input, every equation holds before it is solved, and a test of the solve would prove nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.implicit import ImplicitEuler, find_layers

HIDDEN, DEPTH, HEADS, VOCABULARY, LABELS = 32, 3, 4, 60, 2
PAD, END = 0, 2
_IDS = {"pad_token_id": PAD, "bos_token_id": 1, "eos_token_id": END}
_USUAL = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": DEPTH,
    "num_attention_heads": HEADS,
    "intermediate_size": 2 * HIDDEN,
}
_DROPOUT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}

# family: (prefix of its classes, settings besides those common to all)
FAMILIES: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "bert": ("Bert", _USUAL | _DROPOUT),
        "roberta": ("Roberta", _USUAL | _DROPOUT),
        "xlm-roberta": ("XLMRoberta", _USUAL | _DROPOUT),
        "camembert": ("Camembert", _USUAL | _DROPOUT),
        "electra": ("Electra", _USUAL | _DROPOUT | {"embedding_size": HIDDEN}),
        "mpnet": ("MPNet", _USUAL | _DROPOUT),
        "deberta-v2": (
            "DebertaV2",
            _USUAL
            | _DROPOUT
            | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
        ),
        "distilbert": (
            "DistilBert",
            {"dim": HIDDEN, "n_layers": DEPTH, "n_heads": HEADS, "hidden_dim": 2 * HIDDEN},
        ),
        "modernbert": (
            "ModernBert",
            _USUAL
            | {"cls_token_id": 3, "sep_token_id": 4, "local_attention": 8}
            | {"attention_dropout": 0.1, "mlp_dropout": 0.1, "embedding_dropout": 0.1},
        ),
        "gpt2": ("GPT2", {"n_embd": HIDDEN, "n_layer": DEPTH, "n_head": HEADS, "n_positions": 64}),
        "llama": ("Llama", _USUAL | {"num_key_value_heads": 2, "attention_dropout": 0.1}),
        "qwen2": ("Qwen2", _USUAL | {"num_key_value_heads": 2, "attention_dropout": 0.1}),
        "t5": (
            "T5",
            {"d_model": HIDDEN, "d_kv": 8, "d_ff": 2 * HIDDEN, "num_heads": HEADS}
            | {"num_layers": DEPTH, "num_decoder_layers": DEPTH, "decoder_start_token_id": PAD},
        ),
    }
)
NAMES = tuple(FAMILIES)
DECODERS = ("gpt2", "llama", "qwen2")
PRE_NORM = (*DECODERS, "modernbert", "t5")
"""Their layers contain the identity, so that h' = h + phi(h') has a solution only by accident."""
FUSED = tuple(name for name in NAMES if name not in ("mpnet", "deberta-v2"))
"""Families whose attention can run in fused kernels."""
CASES = (*((name, "eager") for name in NAMES), *((name, "sdpa") for name in FUSED))


def implicit_euler(family: str) -> ImplicitEuler:
    """Return a step of the scheme that makes sense for the family."""
    return ImplicitEuler(step=0.5 if family in PRE_NORM else 1.0)


def depth(family: str) -> int:
    return 2 * DEPTH if family == "t5" else DEPTH


def config(family: str, attention: str = "eager", **changes: Any) -> Any:
    prefix, settings = FAMILIES[family]
    made = getattr(transformers, f"{prefix}Config")(
        **{"vocab_size": VOCABULARY, "num_labels": LABELS, **_IDS, **settings, **changes}
    )
    made._attn_implementation = attention
    return made


def classifier(
    family: str, *, attention: str = "eager", seed: int = 0, **changes: Any
) -> PreTrainedModel:
    """Return a random classifier in eval mode."""
    torch.manual_seed(seed)
    settings = config(family, attention, **changes)
    model = getattr(transformers, f"{FAMILIES[family][0]}ForSequenceClassification")(settings)
    enliven(model, 0.5 if family in PRE_NORM else 0.7)
    return model.eval()


def enliven(model: nn.Module, scale: float) -> None:
    """Draw every weight anew, large enough for each layer to change its input."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            embeds = parameter.shape[0] == VOCABULARY
            nn.init.normal_(parameter, std=1.0 if embeds else scale / parameter.shape[-1] ** 0.5)
        elif "bias" in name:
            nn.init.normal_(parameter, std=0.1)


def batch(lengths: tuple[int, ...], *, left: bool = False, seed: int = 0) -> dict[str, Tensor]:
    """Return sentences of these lengths, padded; each ends with its only end token."""
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    ids = torch.full((len(lengths), width), PAD)
    mask = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        words = torch.randint(5, VOCABULARY, (length,), generator=generator)
        words[-1] = END
        place = slice(width - length, width) if left else slice(0, length)
        ids[row, place], mask[row, place] = words, 1
    return {"input_ids": ids, "attention_mask": mask}


def alone(inputs: Mapping[str, Tensor], row: int) -> dict[str, Tensor]:
    """Return one sentence of a batch without its padding."""
    real = inputs["attention_mask"][row].bool()
    return {name: value[row : row + 1, real] for name, value in inputs.items()}


def with_positions(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Count the positions from the first real token, as left padding needs."""
    positions = (inputs["attention_mask"].cumsum(1) - 1).clamp_min(0)
    return {**inputs, "position_ids": positions}


@dataclass
class Spy:
    """What each layer was given and what the model went on with, in the order of the calls."""

    calls: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any], Tensor]] = field(
        default_factory=list
    )

    def note(self, layer: nn.Module, args: tuple[Any, ...], kwargs: Any, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        self.calls.append((layer, args, dict(kwargs), hidden))

    def before(self, number: int) -> Tensor:
        return self.calls[number - 1][1][0]

    def after(self, number: int) -> Tensor:
        return self.calls[number - 1][3]

    def phi(self, number: int, hidden: Tensor) -> Tensor:
        """Run a layer by hand."""
        layer, args, kwargs, _ = self.calls[number - 1]
        output = layer.forward(hidden, *args[1:], **kwargs)
        return output[0] if isinstance(output, tuple) else output


def spy_on(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> Spy:
    """Run the model and return what its layers saw; to be called after connecting."""
    spy = Spy()
    handles = [
        layer.register_forward_hook(spy.note, with_kwargs=True) for layer in find_layers(model)
    ]
    model(**inputs)
    for handle in handles:
        handle.remove()
    return spy
