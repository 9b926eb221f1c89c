"""Mixout, beside a plain transcription of its formula, in all the ways a model is trained."""

import copy

import families
import pytest
import torch
import train_tiny as tiny
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForSequenceClassification
from transformers.pytorch_utils import Conv1D

from holdfast.anchors import Mixout, Reference
from holdfast.anchors.mixout import MixedWeight
from holdfast.errors import InputError
from holdfast.implicit import Connection, Theta, connect
from holdfast.solve import Anderson

LABELS = torch.tensor([0, 1])


def moved(family: str = "bert", **changes: object) -> tuple[nn.Module, Reference]:
    """A model in training mode that has gone some way, and where it came from."""
    model = families.classifier(family, **changes).train()
    reference = Reference.of(model)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model, reference


def without_dropout() -> tuple[nn.Module, Reference]:
    return moved(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def logits(model: nn.Module, seed: int = 3) -> Tensor:
    torch.manual_seed(seed)
    return model(**families.batch((7, 5))).logits


def gradients(model: nn.Module, seed: int = 3) -> dict[str, Tensor]:
    model.zero_grad()
    functional.cross_entropy(logits(model, seed), LABELS).backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def layer(weight: Tensor, value: Tensor, **settings: object) -> nn.Linear:
    """A linear layer without bias, mixed."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
    with torch.no_grad():
        made.weight.copy_(weight)
    mix = MixedWeight(value, **settings)
    made.register_forward_pre_hook(mix.before)
    made.register_forward_hook(mix.after, always_call=True)
    return made


def pair(rows: int = 60, columns: int = 50) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(rows, columns).double(), torch.randn(rows, columns).double()


def weight_in_use(made: nn.Module) -> Tensor:
    """What the layer multiplies by: its answer to the unit vectors."""
    return made(torch.eye(made.in_features, dtype=made.weight.dtype)).T


@pytest.mark.parametrize("columns", [False, True])
def test_the_mixed_weight_is_that_of_the_formula(columns):
    weight, value = pair()
    p = 0.6
    mixed = weight_in_use(layer(weight, value, probability=p, columns=columns)).detach()
    learned = ~torch.isclose(mixed, value)
    B = learned.double()  # the mask that was drawn
    expected = ((1 - B) * value + B * weight - p * value) / (1 - p)
    torch.testing.assert_close(mixed, expected)
    assert 0.3 < B.mean() < 0.5
    by_column = (B[:1] == B).all()
    assert bool(by_column) == columns


def test_masks_of_a_conv1d_are_drawn_for_its_inputs_too():
    model, reference = moved("gpt2")
    Mixout(columns=True).attach(model, reference)
    made, used = model.base_model.h[0].mlp.c_fc, []
    made.register_forward_pre_hook(lambda module, args: used.append(module.weight))
    logits(model)
    learned = ~torch.isclose(used[0], reference.values["h.0.mlp.c_fc.weight"])
    by_input = learned.double().mean(1)  # inputs come first in this layer's weight
    assert isinstance(made, Conv1D)
    assert set(by_input.round().tolist()) == {0.0, 1.0}
    assert (by_input - by_input.round()).abs().max() < 0.05


@pytest.mark.parametrize("columns", [False, True])
def test_the_expectation_over_masks_is_the_weight(columns):
    weight, value = pair(4, 5)
    made = layer(weight, value, probability=0.6, columns=columns)
    mean = torch.stack([weight_in_use(made).detach() for _ in range(4000)]).mean(0)
    spread = (weight - value).abs() * (0.6 / 0.4) ** 0.5 / 4000**0.5
    assert ((mean - weight).abs() < 5 * spread).all()


@pytest.mark.parametrize("columns", [False, True])
def test_the_gradient_is_that_of_the_mixed_forward(columns):
    weight, value = pair(3, 4)
    mix = MixedWeight(value, probability=0.6, columns=columns)

    def mixed(given: Tensor) -> Tensor:
        torch.manual_seed(2)
        return mix.mixed(given, inputs=1)

    assert torch.autograd.gradcheck(mixed, weight.requires_grad_())
    (gradient,) = torch.autograd.grad(mixed(weight).sum(), weight)
    torch.testing.assert_close(gradient.unique(), torch.tensor([0.0, 2.5]).double())


def test_probability_0_is_the_plain_model_bit_for_bit():
    model, reference = moved()
    plain, expected = logits(model), gradients(model)
    attached = Mixout(probability=0.0).attach(model, reference)
    assert torch.equal(logits(model), plain)
    assert all(torch.equal(g, expected[name]) for name, g in gradients(model).items())
    assert not attached.undo


@pytest.mark.parametrize("columns", [False, True])
def test_probability_1_is_the_pre_trained_model(columns):
    model, reference = without_dropout()
    expected = copy.deepcopy(model)
    with torch.no_grad():
        for part in linear_layers(expected.base_model):
            part[1].weight.copy_(reference.values[f"{part[0]}.weight"])
    Mixout(probability=1.0, columns=columns).attach(model, reference)
    assert torch.equal(logits(model), logits(expected))
    found = gradients(model)
    for name, _ in linear_layers(model.base_model):
        assert (found[f"bert.{name}.weight"] == 0).all()


def linear_layers(module: nn.Module) -> list[tuple[str, nn.Module]]:
    return [(n, p) for n, p in module.named_modules() if isinstance(p, nn.Linear | Conv1D)]


@pytest.mark.parametrize("family", families.NAMES)
def test_every_family_is_mixed_in_training_only(family):
    model, reference = moved(family)
    plain, names = logits(model), list(model.state_dict())
    evaluated = logits(model.eval())
    attached = Mixout().attach(model, reference)
    assert torch.equal(logits(model), evaluated)
    assert not torch.equal(logits(model.train()), plain)
    assert list(model.state_dict()) == names
    assert all(isinstance(p, nn.Parameter) for m in model.modules() for p in m.parameters(False))
    seen = [name for name, part in linear_layers(model.base_model) if part._forward_pre_hooks]
    assert seen == [name for name, _ in linear_layers(model.base_model)]
    attached.remove()
    assert torch.equal(logits(model), plain)


def test_heads_biases_and_embeddings_are_left_alone():
    model, reference = without_dropout()
    Mixout(probability=1.0).attach(model, reference)
    found = gradients(model)
    kept = [name for name, gradient in found.items() if gradient.abs().max() > 0]
    assert {"classifier.weight", "bert.embeddings.word_embeddings.weight"} <= set(kept)
    assert "bert.pooler.dense.bias" in kept


def test_a_checkpoint_saved_in_training_is_a_plain_one(tmp_path):
    model, reference = moved()
    Mixout().attach(model, reference)
    gradients(model)
    model.save_pretrained(tmp_path)
    loaded = BertForSequenceClassification.from_pretrained(tmp_path).state_dict()
    assert list(loaded) == list(model.state_dict())
    assert all(torch.equal(loaded[name], value) for name, value in model.state_dict().items())


def test_gradient_checkpointing_draws_the_same_masks_again():
    model, reference = moved()
    Mixout().attach(model, reference)
    expected = gradients(model)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name])
    assert all(isinstance(part.weight, nn.Parameter) for _, part in linear_layers(model))


def test_the_parameter_is_put_back_when_a_layer_fails():
    model, reference = moved()
    Mixout().attach(model, reference)
    made = model.base_model.pooler.dense
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        made(torch.zeros(1, 3))
    assert isinstance(made.weight, nn.Parameter)
    assert made(torch.zeros(1, families.HIDDEN)).shape == (1, families.HIDDEN)


def test_a_copy_is_mixed_by_itself():
    model, reference = moved()
    Mixout().attach(model, reference)
    twin = copy.deepcopy(model)
    assert torch.equal(logits(twin), logits(model))
    with torch.no_grad():
        model.base_model.pooler.dense.weight.zero_()
    before = logits(model)
    gradients(twin)  # nothing of the copy's backward pass reaches the original
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(logits(model), before)
    mixes = [part.base_model.pooler.dense._forward_hooks for part in (model, twin)]
    first, second = (next(iter(hooks.values())).__self__ for hooks in mixes)
    assert first is not second
    assert first.value is second.value  # the pre-trained weights are shared


def test_weights_are_mixed_in_full_precision_under_autocast():
    model, reference = without_dropout()
    Mixout().attach(model, reference)
    made, used = model.base_model.pooler.dense, []
    made.register_forward_pre_hook(lambda module, args: used.append(module.weight))
    exact = gradients(model)["bert.pooler.dense.weight"]
    with torch.autocast("cpu", torch.bfloat16):
        half = gradients(model)["bert.pooler.dense.weight"]
    assert torch.equal(*used)  # the same masks
    assert used[1].dtype == half.dtype == torch.float32
    assert 0 < (half - exact).norm() < 0.1 * exact.norm()


def test_a_connected_layer_is_solved_with_one_mask():
    model, reference = moved()
    Mixout().attach(model, reference)
    solver = Anderson(max_steps=40, tolerance=1e-4)
    connected = connect(model, Connection(layers="2", scheme=Theta(0.3), solver=solver))
    first = logits(model)
    assert torch.equal(first, logits(model))
    assert not torch.equal(first, logits(model, seed=4))
    (reading,) = connected.readings()
    assert reading.residual_after < 1e-3  # other masks at each evaluation would leave it large


def test_dropout_can_be_turned_off_and_comes_back():
    model, reference = moved()
    usual = [part.p for part in model.modules() if isinstance(part, nn.Dropout)]
    attached = Mixout(probability=0.0, keep_dropout=False).attach(model, reference)
    assert torch.equal(logits(model, 1), logits(model, 2))
    attached.remove()
    assert [part.p for part in model.modules() if isinstance(part, nn.Dropout)] == usual
    assert not torch.equal(logits(model, 1), logits(model, 2))


def test_new_weights_of_the_base_model_are_left_alone():
    model = tiny.model().train()
    new = ("bert.pooler.dense.weight", "bert.pooler.dense.bias")
    Mixout().attach(model, Reference.of(model, new))
    assert not model.bert.pooler.dense._forward_hooks
    assert model.bert.encoder.layer[0].output.dense._forward_hooks


def test_mixing_twice_is_refused():
    model, reference = moved()
    attached = Mixout().attach(model, reference)
    with pytest.raises(InputError, match="mixed already"):
        Mixout().attach(model, reference)
    attached.remove()
    Mixout().attach(model, reference)
