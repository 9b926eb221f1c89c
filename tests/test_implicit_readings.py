"""What a handle tells of the solves."""

import math
from dataclasses import replace

import pytest
import torch
from families import batch, classifier, spy_on

from holdfast.implicit import Connection, Explicit, Theta, connect, find_layers, recommended
from holdfast.implicit.readings import HELD_CALLS
from holdfast.solve import Anderson, Descent, Phantom, relative_residual

TIGHT = Connection(scheme=Theta(), solver=Anderson(40, 1e-4, memory=6), on_failure="raise")


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def test_residuals_are_those_one_finds_by_hand() -> None:
    model, inputs = classifier("bert"), batch((9, 9))
    handle = connect(model, TIGHT)
    spy = spy_on(model, inputs)
    for reading in handle.readings():
        h, x = spy.before(reading.layer), spy.after(reading.layer)
        image = spy.phi(reading.layer, h)
        offset = (0.5 * h + 0.5 * image) / 1.5
        start = offset + image / 3
        before = relative_residual(start, offset + spy.phi(reading.layer, start) / 3)
        after = relative_residual(x, offset + spy.phi(reading.layer, x) / 3)
        assert reading.residual_before == pytest.approx(float(before.mean()), rel=1e-4)
        assert reading.residual_after == pytest.approx(float(after.mean()), rel=1e-2)
        assert reading.converged == 1.0


@pytest.mark.parametrize("solver", [Anderson(40, 1e-4, memory=6), Descent(3), Anderson(2, 1e-9)])
def test_evaluations_are_the_calls_of_the_layer_besides_its_own(solver) -> None:
    model = classifier("bert")
    handle = connect(model, replace(TIGHT, solver=solver, on_failure="keep"))
    calls = dict.fromkeys(range(1, 4), 0)
    for number, layer in enumerate(find_layers(model), start=1):
        layer.attention.register_forward_hook(
            lambda *_, number=number: calls.update({number: calls[number] + 1})
        )
    model(**batch((7, 12, 4)))
    for reading in handle.readings():
        assert reading.evaluations == calls[reading.layer] - 1


def test_padding_does_not_flatter_the_residual() -> None:
    """The same sentence has the same residual however much padding follows it."""
    model, inputs = classifier("bert"), batch((5, 30))
    handle = connect(model, replace(TIGHT, solver=Anderson(3, 1e-4), on_failure="keep"))
    short = {name: value[:1, :5] for name, value in inputs.items()}
    padded = {name: value[:1] for name, value in inputs.items()}
    found = []
    for each in (short, padded):
        handle.reset()
        model(**each)
        found.append(handle.readings())
    for one, other in zip(*found, strict=True):
        assert one.residual_before == pytest.approx(other.residual_before, rel=1e-4)
        assert one.residual_after == pytest.approx(other.residual_after, rel=1e-2)


def test_means_are_over_the_examples_of_all_calls() -> None:
    model = classifier("bert")
    handle = connect(model, TIGHT)
    apart = []
    for row in range(3):
        handle.reset()
        model(**{name: value[row : row + 1] for name, value in batch((9, 9, 9)).items()})
        apart.append(handle.readings()[0])
    handle.reset()
    for row in range(3):
        model(**{name: value[row : row + 1] for name, value in batch((9, 9, 9)).items()})
    together = handle.readings()[0]
    for name in ("residual_before", "residual_after", "evaluations"):
        mean = sum(getattr(reading, name) for reading in apart) / 3
        assert getattr(together, name) == pytest.approx(mean, rel=1e-5)


def test_part_of_a_batch_may_converge() -> None:
    model = classifier("bert")
    handle = connect(model, replace(TIGHT, solver=Anderson(4, 1e-2), layers="1"))
    model(**batch((9, 9, 9, 9)))
    (hook,) = handle.hooks
    level = float(hook.tally.held[-1].residual_before.median())
    handle.remove()
    solver = Anderson(1, level)  # one evaluation, and half of the examples start within
    handle = connect(model, replace(TIGHT, solver=solver, layers="1", on_failure="keep"))
    model(**batch((9, 9, 9, 9)))
    assert handle.readings()[0].converged == 0.5
    assert handle.readings()[0].evaluations == 1


def test_a_layer_that_was_not_called_has_no_reading() -> None:
    handle = connect(classifier("bert"), TIGHT)
    for reading in handle.readings():
        assert math.isnan(reading.residual_after)
        assert math.isnan(reading.evaluations)


def test_nothing_is_read_where_nothing_is_solved() -> None:
    model = classifier("bert")
    for scheme in (Explicit(), Theta(0.0)):
        with connect(model, Connection(scheme=scheme)) as handle:
            model(**batch((7, 12)))
            assert all(math.isnan(reading.evaluations) for reading in handle.readings())


def test_means_are_over_all_calls_and_nothing_piles_up() -> None:
    model = classifier("bert", num_hidden_layers=1)
    handle = connect(model, replace(recommended, on_failure="keep"))
    (hook,) = handle.hooks
    first, other, calls = batch((3,)), batch((9, 9), seed=1), HELD_CALLS + 3
    apart = []
    for inputs in (first, other):
        handle.reset()
        model(**inputs)
        apart.append(handle.readings()[0])
    handle.reset()
    model(**first)
    for _ in range(calls):
        model(**other)
        assert len(hook.tally.held) < HELD_CALLS
    assert all(reached.residual_after.shape == (2,) for reached in hook.tally.held)
    (found,) = handle.readings()
    for name in ("residual_before", "residual_after", "converged"):
        one, two = (getattr(reading, name) for reading in apart)
        wanted = (one + 2 * calls * two) / (1 + 2 * calls)
        assert getattr(found, name) == pytest.approx(wanted, rel=1e-6)
    one, two = (reading.evaluations for reading in apart)
    assert found.evaluations == pytest.approx((one + calls * two) / (1 + calls))
    assert handle.readings() == [found], "reading changes nothing"


def test_the_step_of_a_phantom_gradient_is_no_part_of_the_solve() -> None:
    model = classifier("bert")
    handle = connect(model, replace(TIGHT, gradient=Phantom(steps=3)))
    model(**batch((9, 9)))
    wanted = [reading.evaluations for reading in handle.readings()]
    handle.reset()
    with torch.enable_grad():
        model(**batch((9, 9)))
    assert [reading.evaluations for reading in handle.readings()] == wanted
