"""The standard objective: cross-entropy, once a batch, nothing beside the model."""

import pytest
import torch
import train_tiny as tiny

from holdfast.objectives import Objective, Standard, inputs_of
from holdfast.record import decode, encode


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    items = tiny.collator()([tiny.encoded(4)[row] for row in range(4)])
    items.pop("ids")
    return items


def test_it_is_the_models_own_loss(batch):
    model = tiny.model()
    (loss,) = Standard().losses(model, torch.nn.Module(), batch)
    torch.testing.assert_close(loss.total, model(**batch).loss)


def test_it_yields_what_it_announces_and_keeps_nothing(batch):
    objective: Objective = Standard()
    model = tiny.model()
    extras = objective.extras(model)
    assert not extras.state_dict()
    assert len(list(objective.losses(model, extras, batch))) == objective.passes == 1


def test_losses_are_full_precision_under_autocast(batch):
    with torch.autocast("cpu", torch.bfloat16):
        (loss,) = Standard().losses(tiny.model(), torch.nn.Module(), batch)
    assert loss.total.dtype == torch.float32


def test_the_model_is_asked_for_logits_only(batch):
    assert "labels" in batch
    assert set(inputs_of(batch)) == {"input_ids", "attention_mask", "token_type_ids"} & set(batch)


def test_it_is_its_own_json():
    assert decode(Standard, encode(Standard())) == Standard()
