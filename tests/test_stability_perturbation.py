"""How a perturbation of the embeddings grows through the layers of a real (tiny) model."""

import pytest
import torch
from families import DEPTH, PAD, batch, classifier

from holdfast.errors import InputError
from holdfast.implicit import Connection, Explicit, ImplicitEuler, Theta, connect, connected
from holdfast.implicit.capture import capture_layers, plain_twin, twin
from holdfast.implicit.perturbation import SCHEMES, perturbation_growth
from holdfast.implicit.spectrum import Linearisation
from holdfast.solve import Anderson, Unrolled

LENGTHS = (7, 4, 5)


def test_every_scheme_starts_from_the_same_perturbation() -> None:
    growths = perturbation_growth(classifier("bert"), batch(LENGTHS), size=0.02)
    assert [growth.name for growth in growths] == list(SCHEMES)
    for growth in growths:
        assert len(growth.mean) == len(growth.low) == len(growth.high) == DEPTH + 1
        assert growth.mean[0] == pytest.approx(0.02, rel=1e-4)
        assert all(low <= high for low, high in zip(growth.low, growth.high, strict=True))
    assert {g.name for g in growths if g.residual is None} == {"none", "Explicit"}


def test_a_small_perturbation_grows_by_the_derivative_of_the_layer() -> None:
    model, inputs, size = classifier("bert").double(), batch((6,)), 1e-6
    (growth,) = perturbation_growth(model, inputs, {"none": None}, size=size, seed=3)
    first = capture_layers(model, inputs)[0]
    noise = torch.randn(first.before.shape, generator=torch.Generator().manual_seed(3)).double()
    shift = size * noise / noise.norm() * first.before.norm()
    moved = Linearisation(first.phi, first.before).push(shift)
    assert growth.mean[1] == pytest.approx(float(moved.norm() / first.after.norm()), rel=1e-3)


def test_schemes_whose_growth_is_known() -> None:
    connections = {
        "still": Connection(scheme=Explicit(step=0.0)),
        "plain": None,
        "theta 0": Connection(scheme=Theta(0.0)),
    }
    still, plain, zero = perturbation_growth(classifier("bert"), batch(LENGTHS), connections)
    assert still.mean == pytest.approx([0.05] * (DEPTH + 1), rel=1e-4)
    assert zero.mean == plain.mean


def test_what_stands_in_the_padding_does_not_matter() -> None:
    model, inputs = classifier("bert"), batch(LENGTHS)
    padding = inputs["attention_mask"] == 0
    assert (inputs["input_ids"][padding] == PAD).all()
    other = {**inputs, "input_ids": inputs["input_ids"].masked_fill(padding, 9)}
    for one, two in zip(*(perturbation_growth(model, b) for b in (inputs, other)), strict=True):
        assert one.mean == pytest.approx(two.mean, rel=1e-3)


def test_the_seed_decides() -> None:
    model, inputs, plain = classifier("bert"), batch(LENGTHS), {"none": None}
    one, same, other = (perturbation_growth(model, inputs, plain, seed=s) for s in (0, 0, 1))
    assert one == same
    assert one != other


def test_the_model_and_its_connection_are_left_alone() -> None:
    model, inputs = classifier("bert").train(), batch(LENGTHS)
    plain = perturbation_growth(model, inputs)
    handle = connect(model, Connection(layers="2", scheme=Theta(0.5)))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert perturbation_growth(model, inputs) == plain
    assert connected(model) is handle
    assert model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_size_that_is_not_positive_is_refused() -> None:
    with pytest.raises(InputError, match="must be positive"):
        perturbation_growth(classifier("bert"), batch(LENGTHS), size=0.0)


def test_records_hold_what_a_connection_passed_on() -> None:
    model, inputs = classifier("bert"), batch(LENGTHS)
    with connect(model, Connection(layers="2", scheme=ImplicitEuler(), on_failure="keep")):
        one, two, three = capture_layers(model, inputs)
        states = model(**inputs, output_hidden_states=True).hidden_states
    assert [one.number, two.number, three.number] == [1, 2, 3]
    assert torch.equal(two.after, states[2])
    assert torch.equal(three.before, two.after)
    torch.testing.assert_close(one.phi(one.before), one.after)


def test_a_twin_shares_the_weights_and_nothing_else() -> None:
    model, inputs = classifier("bert").train(), batch(LENGTHS)
    solver = Anderson(tolerance=1e-3)
    connect(model, Connection(solver=solver, gradient=Unrolled(), on_failure="keep"))
    model(**inputs).logits.sum().backward()
    copied, bare = twin(model), plain_twin(model)
    for parameters in zip(model.parameters(), copied.parameters(), bare.parameters(), strict=True):
        assert len({id(parameter) for parameter in parameters}) == 1
    assert connected(copied).connection == connected(model).connection
    assert connected(bare) is None
    assert model.training
    assert not copied.training
    model.eval()
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, copied(**inputs).logits)
        assert not torch.equal(model(**inputs).logits, bare(**inputs).logits)


def test_the_twin_of_a_half_precision_model_is_in_single_precision() -> None:
    model = classifier("bert").bfloat16()
    assert {p.dtype for p in twin(model).parameters()} == {torch.float32}
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
