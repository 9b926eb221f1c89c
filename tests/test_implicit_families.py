"""Connections on a tiny model of every family."""

import copy
import functools
import inspect
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import (
    CASES,
    DECODERS,
    FUSED,
    NAMES,
    PRE_NORM,
    alone,
    batch,
    classifier,
    depth,
    implicit_euler,
    spy_on,
    with_positions,
)
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.implicit import (
    Connection,
    Explicit,
    ImplicitEuler,
    Scheme,
    Theta,
    connect,
    connected,
    find_layers,
    recommended,
)
from holdfast.solve import Anderson, Broyden, Descent, FixedPoint, Solver

TOLERANCE = 1e-4
TIGHT = Anderson(max_steps=40, tolerance=TOLERANCE, memory=6)
families = pytest.mark.parametrize("family", NAMES)
cases = pytest.mark.parametrize(("family", "attention"), CASES)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def hooks(model: PreTrainedModel) -> list[tuple[str, int, int]]:
    return [
        (name, len(part._forward_hooks), len(part._forward_pre_hooks))
        for name, part in model.named_modules()
    ]


def solving(scheme: Scheme, solver: Solver = TIGHT, **changes: Any) -> Connection:
    return Connection(scheme=scheme, solver=solver, on_failure="raise", **changes)


@families
def test_removing_leaves_no_trace(family: str) -> None:
    model, inputs = classifier(family), batch((7, 12, 4))
    wanted, settings, clean, names = (
        model(**inputs).logits,
        copy.deepcopy(model.config.to_dict()),
        hooks(model),
        set(vars(model)),
    )
    keys = list(model.state_dict())
    with connect(model, solving(Theta(0.5))) as handle:
        assert connected(model) is handle
        assert list(model.state_dict()) == keys
        assert model.config.to_dict() == settings
        assert not torch.allclose(model(**inputs).logits, wanted, atol=1e-3)
    handle.remove()  # safe to repeat
    assert connected(model) is None
    assert hooks(model) == clean
    assert set(vars(model)) == names
    assert model.config.to_dict() == settings
    assert torch.equal(model(**inputs).logits, wanted)


@cases
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_theta_zero_is_the_untouched_model(family: str, attention: str, training: bool) -> None:
    model, inputs = classifier(family, attention=attention).train(training), batch((7, 12, 4))
    torch.manual_seed(5)
    wanted = model(**inputs).logits
    with connect(model, Connection(scheme=Theta(0.0))):
        torch.manual_seed(5)
        assert torch.equal(model(**inputs).logits, wanted)


@families
def test_explicit_adds_the_layer_to_its_input(family: str) -> None:
    model = classifier(family)
    for step in (1.0, 0.3):
        with connect(model, Connection(scheme=Explicit(step))):
            spy = spy_on(model, batch((7, 12, 4)))
            for number in range(1, depth(family) + 1):
                h = spy.before(number)
                assert torch.equal(spy.after(number), h + step * spy.phi(number, h))


def relative(difference: Tensor, image: Tensor, mask: Tensor) -> Tensor:
    """Return the sizes of each example's real tokens, one to the other."""
    real = mask.unsqueeze(2)
    return (difference * real).flatten(1).norm(dim=1) / (image * real).flatten(1).norm(dim=1)


@cases
def test_the_equation_of_implicit_euler_holds(family: str, attention: str) -> None:
    model, inputs = classifier(family, attention=attention), batch((7, 12, 4))
    scheme = implicit_euler(family)
    handle = connect(model, solving(scheme))
    spy = spy_on(model, inputs)
    for reading in handle.readings():
        h, x = spy.before(reading.layer), spy.after(reading.layer)
        image = h + scheme.step * spy.phi(reading.layer, x)
        assert float(relative(x - image, image, inputs["attention_mask"]).max()) <= TOLERANCE
        explicit, padding = (
            h + scheme.step * spy.phi(reading.layer, h),
            ~inputs["attention_mask"].bool(),
        )
        assert torch.equal(x[padding], explicit[padding]), "padding stays where the solve began"
        assert reading.residual_before > 100 * TOLERANCE, "nothing was to be solved"


@families
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_the_equation_of_theta_holds(family: str, theta: float) -> None:
    model, inputs = classifier(family), batch((7, 12, 4))
    handle = connect(model, solving(Theta(theta)))
    spy = spy_on(model, inputs)
    for reading in handle.readings():
        h, x = spy.before(reading.layer), spy.after(reading.layer)
        f_h, f_x = spy.phi(reading.layer, h) - h, spy.phi(reading.layer, x) - x
        defect = x - h - (1 - theta) * f_h - theta * f_x
        # solved for x the equation reads x = g(x) with this defect divided by 1 + theta
        found = relative(defect / (1 + theta), x, inputs["attention_mask"])
        assert float(found.max()) <= 1.01 * TOLERANCE
        assert reading.residual_before > 100 * TOLERANCE, "nothing was to be solved"


DEFAULTS = (FixedPoint(), Anderson(), Anderson(mixing="token"), Broyden(), Descent())


def assert_same_alone_as_padded(model: PreTrainedModel, inputs: dict[str, Tensor]) -> None:
    together = model(**inputs).logits
    for row in range(len(together)):
        apart = model(**alone(inputs, row)).logits
        torch.testing.assert_close(together[row : row + 1], apart, rtol=0, atol=1e-4)


@families
def test_a_sentence_is_the_same_alone_and_padded(family: str) -> None:
    model, inputs = classifier(family), batch((4, 9))
    for scheme in (implicit_euler(family), Theta()):
        with connect(model, Connection(scheme=scheme, on_failure="keep")):
            assert_same_alone_as_padded(model, inputs)


@pytest.mark.parametrize("solver", DEFAULTS, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("family", ["bert", "deberta-v2", "modernbert", "t5"])
def test_a_sentence_is_the_same_with_every_solver(family: str, solver: Solver) -> None:
    model, inputs = classifier(family), batch((4, 9))
    for scheme in (implicit_euler(family), Theta()):
        with connect(model, Connection(scheme=scheme, solver=solver, on_failure="keep")):
            assert_same_alone_as_padded(model, inputs)


@pytest.mark.parametrize("family", FUSED)
def test_a_sentence_is_the_same_with_fused_attention(family: str) -> None:
    model = classifier(family, attention="sdpa")
    with connect(model, recommended):
        assert_same_alone_as_padded(model, batch((4, 9)))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", DECODERS)
def test_a_sentence_is_the_same_with_padding_on_the_left(family: str, attention: str) -> None:
    model = classifier(family, attention=attention)
    for solver in (Anderson(), Descent()):
        with connect(model, Connection(scheme=Theta(), solver=solver, on_failure="keep")):
            assert_same_alone_as_padded(model, with_positions(batch((4, 9), left=True)))


def note_sizes(layer: nn.Module) -> list[int]:
    """Note how many examples each evaluation of a layer is given."""
    sizes, forward = [], layer.forward
    name = next(iter(inspect.signature(forward).parameters))

    @functools.wraps(forward)
    def noted(*args: Any, **kwargs: Any) -> Any:
        sizes.append(len(args[0] if args else kwargs[name]))
        return forward(*args, **kwargs)

    layer.forward = noted
    return sizes


@cases
def test_finished_examples_stop_costing(family: str, attention: str) -> None:
    model, inputs, number = classifier(family, attention=attention), batch((9, 3, 7, 5)), 2
    once = Connection(f"{number}", implicit_euler(family), Anderson(max_steps=1), on_failure="keep")
    with connect(model, once) as handle:
        model(**inputs)
        found = handle.hooks[0].tally.held[-1].residual_before
    # half of the examples start within this tolerance, and the others do not
    solver = Anderson(max_steps=6, tolerance=float(found.sort().values[1:3].mean()))
    sizes = note_sizes(find_layers(model)[number - 1])
    connect(model, replace(once, solver=solver))
    model(**inputs)
    assert sizes[:2] == [4, 4], "the layer's own call and the first evaluation see all"
    assert sizes[2] == 2
    assert_same_alone_as_padded(model, inputs)


@families
def test_only_the_named_layers_are_connected(family: str) -> None:
    model, last = classifier(family), depth(family)
    handle = connect(model, solving(Explicit(), layers=f"2,{last}"))
    assert handle.layers == (2, last)
    spy = spy_on(model, batch((7, 12, 4)))
    assert [call[0] for call in spy.calls] == find_layers(model)
    for number in range(1, last + 1):
        h = spy.before(number)
        plain = spy.phi(number, h)
        wanted = h + plain if number in (2, last) else plain
        assert torch.equal(spy.after(number), wanted)


def recorded(output: Any, name: str) -> list[tuple[Tensor, ...]]:
    """Return what was recorded of each stack of layers."""
    whole = getattr(output, name, None)
    return [whole] if whole else [output[f"encoder_{name}"], output[f"decoder_{name}"]]


@families
@pytest.mark.parametrize("when", ["before", "after"])
def test_recorded_states_are_those_fed_to_the_layers(family: str, when: str) -> None:
    model, inputs = classifier(family), batch((7, 12, 4))
    if when == "before":  # the recorder puts its hooks in place at the first use
        model(**inputs, output_hidden_states=True)
    connect(model, solving(Theta()))
    spy = spy_on(model, inputs)
    states = recorded(model(**inputs, output_hidden_states=True), "hidden_states")
    fed = [spy.before(number) for number in range(1, depth(family) + 1)]
    per_stack = depth(family) // len(states)
    for stack, states_of_stack in enumerate(states):
        assert len(states_of_stack) == per_stack + 1
        for place, state in enumerate(states_of_stack[:-1]):
            assert torch.equal(state, fed[stack * per_stack + place])


@families
@pytest.mark.parametrize("when", ["before", "after"])
def test_attentions_are_recorded_once_a_layer(family: str, when: str) -> None:
    model, inputs = classifier(family), batch((7, 12, 4))
    if when == "before":
        model(**inputs, output_attentions=True)
    wanted = model(**inputs, output_attentions=True)
    handle = connect(model, solving(Theta()))
    found = model(**inputs, output_attentions=True)
    assert all(reading.evaluations > 2 for reading in handle.readings())
    stacks = recorded(found, "attentions")
    if family == "t5":
        stacks.append(found.cross_attentions)
        assert len(found.cross_attentions) == len(wanted.cross_attentions)
    assert [len(stack) for stack in stacks] == [3] * len(stacks)
    # the first layer's own call is given the embeddings, connected or not
    assert torch.equal(stacks[0][0], recorded(wanted, "attentions")[0][0])


@families
def test_a_copy_is_connected_on_its_own(family: str) -> None:
    model, inputs = classifier(family), batch((7, 12, 4))
    plain = model(**inputs).logits
    handle = connect(model, solving(Theta()))
    wanted = model(**inputs).logits
    twin = copy.deepcopy(model)
    assert torch.equal(twin(**inputs).logits, wanted)
    own = connected(twin)
    assert own is not None
    assert own is not handle
    assert own.model is twin
    own.reset()
    assert handle.readings()[0].evaluations > 0
    own.remove()
    assert torch.equal(twin(**inputs).logits, plain)
    assert torch.equal(model(**inputs).logits, wanted)
    handle.remove()
    assert torch.equal(model(**inputs).logits, plain)


def test_layers_of_an_encoder_decoder_count_the_encoder_first() -> None:
    model = classifier("t5")
    encoder, decoder = model.transformer.encoder.block, model.transformer.decoder.block
    assert find_layers(model) == [*encoder, *decoder]
    handle = connect(model, Connection(layers="3-5", scheme=Explicit()))
    assert handle.layers == (3, 4, 5)
    assert [reading.layer for reading in handle.readings()] == [3, 4, 5]


@pytest.mark.parametrize("family", PRE_NORM)
def test_one_implicit_euler_step_on_layers_that_contain_the_identity_says_it_failed(
    family: str,
) -> None:
    """There h' = h + phi(h') asks for an increment of -h, which no layer was made to give."""
    model = classifier(family)
    with connect(model, Connection(scheme=ImplicitEuler(), on_failure="keep")) as handle:
        model(**batch((7, 12, 4)))
        assert min(reading.converged for reading in handle.readings()) < 1.0
