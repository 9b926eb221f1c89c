"""A text's answer has the same bits whoever runs beside it, though no batch is filled up."""

import pytest
import text_tokenizers as kinds
import torch
from attack_tiny import victim
from transformers import GPT2Config, GPT2ForSequenceClassification

from holdfast.victim.steady import SteadyRows


@pytest.mark.parametrize("shape", [(3, 8), (1, 8), (2, 5, 8), (4, 4, 8), (40, 8)])
def test_products_are_those_of_torch(shape: tuple[int, ...]) -> None:
    rows, layer = torch.randn(shape), torch.nn.Linear(8, 6)
    weight, bias = torch.randn(8, 6), torch.randn(6)
    plain = layer(rows), torch.addmm(bias, rows.reshape(-1, 8), weight)
    with SteadyRows():
        steady = layer(rows), torch.addmm(bias, rows.reshape(-1, 8), weight)
    for one, other in zip(plain, steady, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("rows", [1, 2, 5, 15, 16, 23])
def test_the_number_of_rows_does_not_reach_a_row(rows: int) -> None:
    it = victim(kinds.wordpiece())
    tokens = torch.randint(5, 40, (24, 7), generator=torch.Generator().manual_seed(0)).int()
    whole = it.forward(tokens, torch.full((24,), 7))
    part = it.forward(tokens[:rows], torch.full((rows,), 7))
    assert torch.equal(part, whole[:rows])


def test_gpt2_is_steady_too() -> None:
    torch.manual_seed(0)
    config = GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=50, pad_token_id=0)
    model = GPT2ForSequenceClassification(config).eval()
    tokens = torch.randint(1, 50, (24, 6))
    with torch.no_grad(), SteadyRows():
        whole, part = model(input_ids=tokens).logits, model(input_ids=tokens[:2]).logits
    assert torch.equal(part, whole[:2])
