"""Reading off a layer's attention mask which tokens are real."""

import pytest
import torch
from families import NAMES, alone, batch, classifier, config
from torch import Tensor
from transformers import T5EncoderModel

from holdfast.implicit import connect, find_layers, recommended
from holdfast.implicit.padding import real_tokens

RIGHT = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
LEFT = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
HIDDEN = torch.zeros(2, 5, 3)
LOWEST = torch.finfo(torch.float32).min


def additive(visible: Tensor) -> Tensor:
    return torch.zeros(visible.shape).masked_fill(~visible, LOWEST)


def bidirectional(mask: Tensor) -> Tensor:
    return mask.bool()[:, None, None, :].expand(2, 1, 5, 5)


def causal(mask: Tensor) -> Tensor:
    return bidirectional(mask) & torch.ones(5, 5, dtype=torch.bool).tril()


def window(mask: Tensor) -> Tensor:
    near = (torch.arange(5)[:, None] - torch.arange(5)).abs() <= 1
    return bidirectional(mask) & near


FORMS = {
    "kernels without a matrix": lambda mask: mask,
    "one row": lambda mask: additive(mask.bool()[:, None, None, :]),
    "boolean": bidirectional,
    "additive": lambda mask: additive(bidirectional(mask)),
    "half precision": lambda mask: additive(bidirectional(mask)).bfloat16(),
    "causal": causal,
    "additive causal": lambda mask: additive(causal(mask)),
    "window": window,
    "product": lambda mask: mask[:, None, None, :] * mask[:, None, :, None],
    "heads": lambda mask: causal(mask).expand(2, 4, 5, 5),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mask", [RIGHT, LEFT], ids=["right", "left"])
def test_every_form_of_mask(form: str, mask: Tensor) -> None:
    real = real_tokens({"attention_mask": FORMS[form](mask)}, HIDDEN)
    assert torch.equal(real, mask.bool().unsqueeze(2))


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_without_padding_hides_nothing(form: str) -> None:
    real = real_tokens({"attention_mask": FORMS[form](torch.ones_like(RIGHT))}, HIDDEN)
    assert bool(real.all())


def test_a_mask_shared_by_the_batch() -> None:
    real = real_tokens({"attention_mask": causal(LEFT)[:1]}, HIDDEN)
    assert torch.equal(real[:, :, 0], LEFT[:1].bool().expand(2, 5))


def test_no_mask_means_no_padding() -> None:
    assert real_tokens({}, HIDDEN) is None
    assert real_tokens({"attention_mask": None}, HIDDEN) is None


def test_a_decoder_shares_the_padding_of_the_tokens_it_is_fed() -> None:
    arguments = {
        "attention_mask": causal(torch.ones_like(RIGHT)),
        "encoder_attention_mask": additive(bidirectional(RIGHT)),
    }
    assert torch.equal(real_tokens(arguments, HIDDEN)[:, :, 0], RIGHT.bool())


def test_a_decoder_of_another_length_does_not() -> None:
    arguments = {"encoder_attention_mask": bidirectional(RIGHT)}
    assert real_tokens(arguments, torch.zeros(2, 4, 3)) is None


@pytest.mark.parametrize("family", NAMES)
@torch.no_grad()
def test_leaving_the_mask_out_means_all_are_real(family: str) -> None:
    model, inputs = classifier(family), batch((9, 9))
    connect(model, recommended)
    wanted = model(**inputs).logits
    found = model(input_ids=inputs["input_ids"]).logits
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


@torch.no_grad()
def test_an_encoder_without_its_decoder() -> None:
    torch.manual_seed(0)
    model, inputs = T5EncoderModel(config("t5")).eval(), batch((4, 9))
    assert len(find_layers(model)) == 3
    plain = model(**inputs).last_hidden_state
    handle = connect(model, recommended)
    together = model(**inputs).last_hidden_state
    assert not torch.allclose(together, plain, atol=1e-3)
    for row, length in enumerate((4, 9)):
        apart = model(**alone(inputs, row)).last_hidden_state
        torch.testing.assert_close(together[row : row + 1, :length], apart, rtol=0, atol=1e-4)
    handle.remove()
    assert torch.equal(model(**inputs).last_hidden_state, plain)
