"""The pre-trained weights an anchor holds on to, and what all anchors have in common."""

from typing import get_args

import pytest
import torch
import train_tiny as tiny

from holdfast.anchors import (
    Anchor,
    AnchorLike,
    Attached,
    Mixout,
    PretrainedDecay,
    RecAdam,
    Reference,
)
from holdfast.errors import InputError
from holdfast.record import decode, encode

USUAL = (torch.optim.AdamW, {"lr": 1e-5})
ANCHORS = (PretrainedDecay(), PretrainedDecay(kind="decoupled"), Mixout(), RecAdam())


def test_it_holds_the_base_model_and_no_head():
    model = tiny.model()
    values = Reference.of(model).values
    assert set(values) == {name for name, _ in model.bert.named_parameters()}
    assert not any(name.startswith("classifier") for name in values)


def test_training_does_not_change_it():
    model = tiny.model()
    reference = Reference.of(model)
    before = model.bert.pooler.dense.weight.detach().clone()
    with torch.no_grad():
        model.bert.pooler.dense.weight += 1
    assert torch.equal(reference.values["pooler.dense.weight"], before)
    assert not any(value.requires_grad for value in reference.values.values())


def test_weights_that_no_checkpoint_brought_are_left_out():
    model = tiny.model()
    new = ("bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight")
    missing = set(Reference.of(model).values) - set(Reference.of(model, new).values)
    assert missing == {"pooler.dense.weight", "pooler.dense.bias"}


def test_an_encoder_without_a_head_is_its_own_base():
    encoder = tiny.model().bert
    assert set(Reference.of(encoder).values) == {name for name, _ in encoder.named_parameters()}


def test_the_reference_of_another_model_is_refused():
    small = Reference({"pooler.dense.weight": torch.zeros(2, 2)})
    with pytest.raises(InputError, match=r"pooler.dense.weight of shape \(2, 2\)"):
        list(small.pairs(tiny.model()))
    with pytest.raises(InputError, match="which the model lacks"):
        list(Reference({"elsewhere": torch.zeros(2)}).pairs(tiny.model()))


def test_a_reference_left_on_another_device_is_refused():
    reference = Reference.of(tiny.model())
    with pytest.raises(InputError, match=r"is on meta and its pre-trained value on cpu"):
        list(reference.pairs(tiny.model().to("meta")))


@pytest.mark.parametrize("anchor", ANCHORS, ids=repr)
def test_every_anchor_answers_the_same_calls(anchor: AnchorLike):
    model = tiny.model()
    reference = Reference.of(model)
    names = set(model.state_dict())
    attached = anchor.attach(model, reference)
    assert isinstance(attached, Attached)
    penalty = anchor.penalty(model, reference)
    assert penalty is None or penalty.shape == ()
    kind, settings = anchor.optimizer(USUAL, model, reference)
    assert kind(model.parameters(), **settings).param_groups[0]["lr"] == 1e-5
    assert set(model.state_dict()) == names
    attached.remove()
    attached.remove()
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


@pytest.mark.parametrize("anchor", ANCHORS, ids=repr)
def test_an_anchor_is_its_own_json(anchor):
    assert type(anchor) in get_args(Anchor)
    assert decode(Anchor, encode(anchor)) == anchor


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PretrainedDecay(strength=-1.0), "PretrainedDecay.strength is -1.0"),
        (lambda: PretrainedDecay(kind="squared"), "PretrainedDecay.kind is 'squared'"),
        (lambda: Mixout(probability=1.1), "Mixout.probability is 1.1"),
        (lambda: Mixout(probability=float("nan")), "Mixout.probability is nan"),
        (lambda: RecAdam(rate=0.0), "RecAdam.rate is 0.0"),
        (lambda: RecAdam(midpoint=-1), "RecAdam.midpoint is -1"),
        (lambda: RecAdam(strength=float("nan")), "RecAdam.strength is nan"),
    ],
)
def test_senseless_settings_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
