"""FLOPs by the paper's convention (Tables 3, 5 and 6) and as PyTorch counts them."""

import pytest
import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification, PretrainedConfig, RobertaConfig

from holdfast.errors import InputError
from holdfast.implicit.flops import count_flops, layer_costs, paper_flops

BERT_BASE = BertConfig()
ROBERTA_LARGE = RobertaConfig(
    hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
)
ALL_12 = range(1, 13)


@pytest.mark.parametrize(
    ("config", "layers", "iterations", "printed"),
    [
        (BERT_BASE, (), 0, 22.35),
        (BERT_BASE, ALL_12, 1, 44.7),
        (BERT_BASE, (4, 5, 6), 5, 50.29),
        (BERT_BASE, ALL_12, 5, 134.1),
        (BERT_BASE, ALL_12, 10, 245.85),
        (BERT_BASE, ALL_12, 15, 357.59),
        (ROBERTA_LARGE, (11, 12, 13, 14), 5, 144.76),
        (ROBERTA_LARGE, range(1, 25), 5, 473.75),
    ],
)
def test_tables_of_the_paper(
    config: PretrainedConfig, layers: tuple[int, ...], iterations: int, printed: float
) -> None:
    gigaflops = paper_flops(config, dict.fromkeys(layers, iterations)) / 1e9
    assert gigaflops == pytest.approx(printed, rel=1e-3)


TINY = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 50}


def tiny_model(family: str, attention: str) -> transformers.PreTrainedModel:
    names = {
        "GPT2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 50},
        "DistilBert": {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64, "vocab_size": 50},
        "T5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    }
    settings = names.get(family, {**TINY, "intermediate_size": 64})
    if family == "ModernBert":
        special = ("pad", "bos", "eos", "cls", "sep")
        settings |= {f"{name}_token_id": number for number, name in enumerate(special)}
    if family in ("Llama", "Qwen2"):
        settings["num_key_value_heads"] = 2
    config = getattr(transformers, f"{family}Config")(**settings)
    config._attn_implementation = attention
    return getattr(transformers, f"{family}Model")(config).eval()


def counted(model: transformers.PreTrainedModel, length: int) -> int:
    ids = torch.ones(1, length, dtype=torch.long)
    decoder = {"decoder_input_ids": ids} if model.config.model_type == "t5" else {}
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=ids, attention_mask=torch.ones_like(ids), **decoder)
    return counter.get_total_flops()


@pytest.mark.parametrize(
    "family",
    ["Bert", "Roberta", "DistilBert", "MPNet", "Llama", "Qwen2", "GPT2", "ModernBert", "T5"],
)
def test_the_convention_is_the_count_of_the_layers_matrix_products(family: str) -> None:
    model, length = tiny_model(family, "eager"), 16
    # Beside the layers, a count sees the pooler and the rotary angles: well below one layer's.
    outside = counted(model, length) - paper_flops(model.config, length=length)
    assert 0 <= outside < 0.02 * paper_flops(model.config, length=length)


def tiny_classifier(attention: str = "eager") -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(**TINY, intermediate_size=64, num_labels=2)
    config._attn_implementation = attention
    return BertForSequenceClassification(config).eval()


def batch(size: int = 2, length: int = 16) -> dict[str, torch.Tensor]:
    ids = torch.arange(size * length).reshape(size, length) % 49 + 1
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def test_a_training_step_costs_three_forwards() -> None:
    count = count_flops(tiny_classifier(), batch())
    assert count.training_step == pytest.approx(3 * count.forward, rel=0.02)


def test_fused_attention_on_the_cpu_is_not_free() -> None:
    eager, fused = (count_flops(tiny_classifier(name), batch()) for name in ("eager", "sdpa"))
    assert fused.forward == eager.forward
    # The fused backward computes the scores once more: 2 * length^2 * width a layer and example.
    assert fused.training_step - eager.training_step == 2 * 3 * 2 * 16**2 * 32


def test_labels_and_existing_gradients_change_nothing() -> None:
    model, tokens = tiny_classifier(), batch()
    bias = model.classifier.bias
    bias.grad = torch.ones_like(bias)
    plain = count_flops(model, tokens)
    assert count_flops(model, {**tokens, "labels": torch.tensor([0, 1])}) == plain
    assert torch.equal(bias.grad, torch.ones_like(bias))
    assert model.bert.pooler.dense.weight.grad is None


def test_an_unknown_family_and_a_layer_too_deep_are_refused() -> None:
    with pytest.raises(InputError, match="'vit' layer is not known"):
        layer_costs(transformers.ViTConfig())
    with pytest.raises(InputError, match="Layer 13 is not in this model; it has layers 1-12"):
        paper_flops(BERT_BASE, {12: 5, 13: 5})
