"""Informative fine-tuning: cross-entropy, and InfoNCE with the frozen pre-trained model."""

import copy

import pytest
import torch
from families import classifier
from objective_cases import (
    CONNECTIONS,
    FAMILIES,
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    only_loss,
    without_dropout,
)
from torch import nn
from torch.nn import functional

from holdfast.adversary import inputs_of
from holdfast.errors import InputError
from holdfast.implicit import connect
from holdfast.objectives import Objective, Rift, Standard
from holdfast.objectives.informative import Informative, Kept
from holdfast.record import decode, encode
from holdfast.train.extras import load_extras, save_extras

SMALL = Informative(alpha=0.7, head_width=16, projection=8)


def test_it_is_its_formula_with_its_gradients():
    model, batch = classifier("bert").double(), adversarial_batch()
    torch.manual_seed(0)
    extras = SMALL.extras(model).double()
    with torch.no_grad():  # a student that has left its teacher
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    found = only_loss(SMALL, model, extras, batch).total
    output = model(**inputs_of(batch))
    wanted = functional.cross_entropy(output.logits, batch["labels"])
    student = model.bert(**inputs_of(batch)).pooler_output
    teacher = extras.reference.model(**inputs_of(batch)).pooler_output
    assert (student - teacher).abs().max() > 1e-2
    for number, heads in enumerate(extras.comparison.heads):
        own = batch["labels"] == number
        s = functional.normalize(heads.student(student[own]))
        t = functional.normalize(heads.teacher(teacher[own]))
        wanted = wanted - 0.7 / 2 * (s @ t.T / 0.2).log_softmax(dim=1).diagonal().mean()
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)
    both = nn.ModuleDict({"model": model, "extras": extras})
    assert_same(gradients(both, [found]), gradients(both, [wanted]), atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("features", ["first", "mean"])
def test_every_parameter_is_reached_in_every_family(family, features):
    objective = Informative(features=features, head_width=16, projection=8)
    model, batch = classifier(family).train(), adversarial_batch()
    loss = only_loss(objective, model, objective.extras(model), batch)
    plain = gradients(model, [only_loss(Standard(), model, nn.Module(), batch).total])
    reached = gradients(model, [loss.total])
    assert reached.keys() == plain.keys()
    assert all(value.isfinite().all() for value in reached.values())


def test_without_weight_it_is_plain_fine_tuning_and_needs_nothing():
    model, batch = classifier("bert"), adversarial_batch()
    objective = Informative(alpha=0.0)
    assert not objective.extras(model).state_dict()
    found = only_loss(objective, model, nn.Module(), batch)
    assert torch.equal(found.total, only_loss(Standard(), model, nn.Module(), batch).total)
    assert set(found.parts) == {"clean"}


@pytest.mark.parametrize("name", CONNECTIONS)
def test_the_reference_is_the_plain_pre_trained_model(name):
    model, batch = classifier("bert").train(), adversarial_batch()
    wanted = copy.deepcopy(model).eval().bert(**inputs_of(batch)).pooler_output
    connect(model, CONNECTIONS[name])
    extras = SMALL.extras(model)
    found = extras.reference(batch)
    assert torch.equal(found, wanted), "the connection came along"
    assert not found.requires_grad
    model.eval()
    moved = (model.bert(**inputs_of(batch)).pooler_output - wanted).abs().max()
    assert moved > 1e-3, "the student lost its connection"


def test_the_reference_neither_trains_nor_follows():
    model, batch = classifier("bert").train(), adversarial_batch()
    extras = SMALL.extras(model)
    before = extras.reference(batch)
    extras.train()  # a loop of one's own may well do that
    assert not any(part.training for part in extras.reference.modules())
    assert not any(parameter.requires_grad for parameter in extras.reference.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(extras.reference(batch), before)
    trained = [name for name, p in extras.named_parameters() if p.requires_grad]
    assert trained
    assert all(name.startswith("comparison.heads") for name in trained)


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_the_reference_and_the_heads_survive_a_checkpoint(family, tmp_path):
    objective = Informative(features="first", head_width=16, projection=8)
    first, second = (objective.extras(classifier(family, seed=seed)) for seed in (0, 1))
    batch = adversarial_batch()
    assert not torch.equal(first.reference(batch), second.reference(batch))
    save_extras(first, tmp_path)
    load_extras(second, tmp_path)
    assert torch.equal(first.reference(batch), second.reference(batch))
    assert_same(dict(second.state_dict()), dict(first.state_dict()), atol=0.0)


def test_heads_are_one_pair_a_class_or_one():
    model = classifier("bert", num_labels=3)
    assert len(SMALL.extras(model).comparison.heads) == 3
    unconditional = Informative(conditional=False)
    heads = unconditional.extras(model).comparison.heads
    assert len(heads) == 1
    shapes = [tuple(layer.weight.shape) for layer in (heads[0].student[0], heads[0].student[2])]
    assert shapes == [(512, 32), (256, 512)]
    assert (SMALL.class_conditional, unconditional.class_conditional) == (True, False)


def test_alpha_without_a_reference_is_refused():
    with pytest.raises(InputError, match="alpha without a frozen reference"):
        only_loss(SMALL, classifier("bert"), nn.Module(), adversarial_batch())


GOLDEN = [0.9930, 1.3157, 1.0766, 1.4085]


def test_golden_losses():
    model = without_dropout(classifier("bert").train())
    torch.manual_seed(5)
    assert curve(SMALL, model, SMALL.extras(model)) == pytest.approx(GOLDEN, abs=2e-4)


def test_low_precision():
    model, batch = classifier("bert").train(), adversarial_batch()
    with torch.autocast("cpu", torch.bfloat16):
        loss = only_loss(SMALL, model, SMALL.extras(model), batch)
    assert loss.total.dtype == torch.float32
    assert all(value.isfinite().all() for value in gradients(model, [loss.total]).values())


def test_what_it_tells_the_trainer():
    objective: Objective = Informative()
    assert (objective.passes, objective.moves, objective.substitutes) == (1, False, False)
    assert not Informative(alpha=0.0).class_conditional
    assert decode(Informative, encode(SMALL)) == SMALL
    assert isinstance(objective.extras(classifier("bert")), Kept)


@pytest.mark.parametrize(
    "settings", [{"alpha": -0.1}, {"tau": 0.0}, {"head_width": 0}, {"projection": 0}]
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(InputError, match="expected alpha 0 or above, the others above 0"):
        Informative(**settings)


@pytest.mark.parametrize("objective", [Informative, Rift])
def test_features_of_another_kind_are_refused(objective):
    with pytest.raises(InputError, match="features is 'cls'; expected one of pooler, first, mean"):
        objective(features="cls")
