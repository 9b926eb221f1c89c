"""The relative distance from the pre-trained weights."""

import math

import families
import pytest
import torch
import train_tiny as tiny

from holdfast.anchors import Reference
from holdfast.train import distance
from holdfast.train.distance import layer_distances, layer_of, relative_distance


def test_it_is_zero_before_training():
    model = tiny.model()
    assert relative_distance(model, Reference.of(model)) == 0.0
    assert set(layer_distances(model, Reference.of(model)).values()) == {0.0}


def test_it_is_the_norm_of_the_change_over_the_norm_of_the_start(monkeypatch):
    monkeypatch.setattr(distance, "_PIECE", 7)  # no parameter here has a multiple of 7 weights
    model = tiny.model()
    reference = Reference.of(model)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    names = [name for name, _ in model.bert.named_parameters()]
    moved = torch.cat(
        [(p - reference.values[n]).flatten() for n, p in model.bert.named_parameters()]
    )
    start = torch.cat([reference.values[name].flatten() for name in names])
    expected = moved.norm().item() / start.norm().item()
    assert relative_distance(model, reference) == pytest.approx(expected, rel=1e-5)


def test_the_head_does_not_count():
    model = tiny.model()
    reference = Reference.of(model)
    with torch.no_grad():
        model.classifier.weight += 1
    assert relative_distance(model, reference) == 0.0


def test_half_weights_are_compared_in_full_precision():
    model = tiny.model().bfloat16()
    reference = Reference.of(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.5  # exact in bfloat16 up to its rounding
    assert relative_distance(model, reference) == pytest.approx(0.5, rel=5e-3)


def test_layers_are_told_apart():
    model = tiny.model()
    reference = Reference.of(model)
    with torch.no_grad():
        for parameter in model.bert.encoder.layer[1].parameters():
            parameter *= 3
    found = layer_distances(model, reference)
    assert list(found) == ["embeddings", "encoder.layer.0", "encoder.layer.1", "pooler"]
    assert found["encoder.layer.1"] == pytest.approx(2.0)
    assert sum(value for name, value in found.items() if name != "encoder.layer.1") == 0.0


def test_a_part_that_began_as_zero_is_left_out():
    model = tiny.model()
    with torch.no_grad():
        for parameter in model.bert.pooler.parameters():
            parameter.zero_()
    found = layer_distances(model, Reference.of(model))
    assert "pooler" not in found
    assert all(math.isfinite(value) for value in found.values())


@pytest.mark.parametrize("family", families.NAMES)
def test_every_family_has_its_layers(family):
    model = families.classifier(family)
    found = layer_distances(model, Reference.of(model))
    assert sum(any(word.isdecimal() for word in name.split(".")) for name in found) == (
        families.depth(family)
    )


def test_names():
    assert layer_of("encoder.layer.11.output.dense.weight") == "encoder.layer.11"
    assert layer_of("h.0.attn.c_attn.weight") == "h.0"
    assert layer_of("embeddings.LayerNorm.weight") == "embeddings"
