"""Reading off a layer's attention mask which tokens are real."""

import pytest
import torch
from families import DEPTH, NAMES, alone, batch, classifier, config, enliven
from torch import Tensor
from transformers import PreTrainedModel, T5EncoderModel, T5Model

from holdfast.implicit import connect, find_layers, recommended
from holdfast.implicit.capture import capture_layers
from holdfast.implicit.padding import real_tokens, share_padding

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


def real_of_decoder(model: PreTrainedModel, inputs: dict[str, Tensor]) -> list[Tensor | None]:
    return [record.real for record in capture_layers(model, inputs)[DEPTH:]]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_decoder_shares_the_padding_of_the_tokens_it_is_fed(attention: str) -> None:
    model, inputs = classifier("t5", attention=attention), batch((4, 9, 6))
    for real in real_of_decoder(model, inputs):
        assert torch.equal(real[:, :, 0], inputs["attention_mask"].bool())
    with torch.no_grad():
        wanted = model(**inputs).logits
        (handle,) = share_padding(model)
        torch.testing.assert_close(model(**inputs).logits, wanted, rtol=0, atol=1e-6)
        handle.remove()


def translator() -> tuple[PreTrainedModel, dict[str, Tensor]]:
    """Return a T5 whose decoder has tokens of its own, as many as its encoder has with padding."""
    torch.manual_seed(0)
    model = T5Model(config("t5")).eval()
    enliven(model, 0.5)
    own = batch((9, 9), seed=5)["input_ids"]
    return model, {**batch((4, 9)), "decoder_input_ids": own}


@torch.no_grad()
def test_a_decoder_with_tokens_of_its_own_does_not_share_the_encoders_padding() -> None:
    model, inputs = translator()
    assert all(real is None or bool(real.all()) for real in real_of_decoder(model, inputs))
    connect(model, recommended)
    together = model(**inputs).last_hidden_state
    alone_inputs = {name: value[:1] for name, value in inputs.items()}
    for name in ("input_ids", "attention_mask"):
        alone_inputs[name] = alone_inputs[name][:, :4]
    apart = model(**alone_inputs).last_hidden_state
    torch.testing.assert_close(together[:1], apart, rtol=0, atol=1e-4)


def test_a_decoder_has_the_padding_it_is_told() -> None:
    model, inputs = translator()
    own = torch.tensor([[1] * 6 + [0] * 3, [1] * 9])
    for real in real_of_decoder(model, {**inputs, "decoder_attention_mask": own}):
        assert torch.equal(real[:, :, 0], own.bool())
    shorter = {**inputs, "decoder_input_ids": inputs["decoder_input_ids"][:, :5]}
    assert all(real is None or bool(real.all()) for real in real_of_decoder(model, shorter))


def test_padding_before_the_text_is_no_padding_to_a_decoder() -> None:
    """Later tokens see it there, as they see the token a decoder starts with."""
    inputs = batch((4, 9), left=True)
    found = real_of_decoder(classifier("t5"), inputs)
    assert all(real is None or bool(real.all()) for real in found)


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
