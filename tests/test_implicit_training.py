"""Training through connections: gradients, dropout, checkpointing, precision, compilation."""

import warnings
from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from families import NAMES, batch, classifier, implicit_euler, spy_on
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.implicit import (
    Connected,
    Connection,
    Explicit,
    Scheme,
    Theta,
    connect,
    find_layers,
    im_bert,
    recommended,
)
from holdfast.solve import (
    Anderson,
    Broyden,
    Descent,
    Detached,
    FixedPoint,
    ImplicitFunction,
    Phantom,
    Unrolled,
)

quiet = replace(recommended, on_failure="keep")
GRADIENTS: Mapping[str, Connection] = {
    "phantom": quiet,
    "two phantom steps": replace(quiet, gradient=Phantom(steps=2, damping=0.5)),
    "implicit": replace(quiet, gradient=ImplicitFunction()),
    "detached": replace(quiet, gradient=Detached()),
    "unrolled": replace(quiet, gradient=Unrolled()),
    "token mixing unrolled": replace(quiet, solver=Anderson(mixing="token"), gradient=Unrolled()),
    "broyden": replace(quiet, solver=Broyden()),
    "paper": im_bert,
    "paper, second order": replace(im_bert, gradient=Unrolled()),
    "explicit": Connection(scheme=Explicit()),
}
LABELS = torch.tensor([0, 1, 1])
families = pytest.mark.parametrize("family", NAMES)


def step(model: PreTrainedModel, *, seed: int = 3, lengths=(7, 12, 4)) -> dict[str, Tensor]:
    """Run forward and backward with fixed dropout masks; return the gradients."""
    model.zero_grad()
    torch.manual_seed(seed)
    model(**batch(lengths), labels=LABELS[: len(lengths)]).loss.backward()
    return gradients(model)


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def assert_equal(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], within: float) -> None:
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=within, msg=name)


def assert_reaches(found: Mapping[str, Tensor], plain: Mapping[str, Tensor]) -> None:
    """Every parameter that learns in the plain model learns here."""
    assert set(found) == set(plain)
    for name, value in found.items():
        assert bool(value.isfinite().all()), name
        if float(plain[name].abs().max()) > 1e-6:
            assert float(value.abs().max()) > 0, name


@pytest.mark.parametrize("connection", GRADIENTS)
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_every_gradient_reaches_every_parameter(family: str, connection: str) -> None:
    model = classifier(family).train()
    plain = step(model)
    connect(model, GRADIENTS[connection])
    assert_reaches(step(model), plain)


@families
def test_gradients_reach_every_parameter_of_every_family(family: str) -> None:
    model = classifier(family).train()
    plain = step(model)
    connect(model, quiet)
    assert_reaches(step(model), plain)


@pytest.mark.parametrize("scheme", [implicit_euler("bert"), Theta(0.5)])
def test_exact_gradients_of_a_model_agree_with_finite_differences(scheme: Scheme) -> None:
    model = classifier("bert").double()
    tight = FixedPoint(max_steps=100, tolerance=1e-13)
    if not isinstance(scheme, Theta):
        tight = Anderson(max_steps=100, tolerance=1e-13, memory=8)
    settings = Connection(layers="2-3", scheme=scheme, solver=tight, on_failure="raise")
    backward = ImplicitFunction(Anderson(max_steps=200, tolerance=1e-13, memory=12))
    found = {}
    for name, gradient in {"unrolled": Unrolled(), "implicit": backward}.items():
        with connect(model, replace(settings, gradient=gradient)):
            found[name] = step(model)
    weight = find_layers(model)[1].attention.self.value.weight
    name = next(n for n, p in model.named_parameters() if p is weight)
    direction = torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)).double()
    slope = finite_difference(model, settings, weight, direction)
    for each in found.values():
        assert float((each[name] * direction).sum()) == pytest.approx(slope, rel=1e-6)
    if isinstance(scheme, Theta):  # unrolled Anderson is exact only as far as its ridge allows
        assert_equal(found["implicit"], found["unrolled"], within=1e-9)


def finite_difference(
    model: PreTrainedModel, settings: Connection, weight: Tensor, direction: Tensor
) -> float:
    losses = []
    with torch.no_grad(), connect(model, settings):
        for shift in (1e-5, -2e-5):
            weight += shift * direction
            losses.append(float(model(**batch((7, 12, 4)), labels=LABELS).loss))
        weight += 1e-5 * direction
    return (losses[0] - losses[1]) / 2e-5


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("connection", GRADIENTS)
def test_checkpointing_gives_the_same_gradients(connection: str, reentrant: bool) -> None:
    model = classifier("bert").train()
    with connect(model, GRADIENTS[connection]):
        wanted = step(model)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    connect(model, GRADIENTS[connection])
    assert_equal(step(model), wanted, within=1e-7)


@pytest.mark.parametrize("family", [name for name in NAMES if name != "mpnet"])
def test_checkpointing_every_family_that_can(family: str) -> None:
    model = classifier(family).train()
    with connect(model, quiet):
        wanted = step(model)
    for reentrant in (False, True):
        model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        with connect(model, quiet):
            assert_equal(step(model), wanted, within=1e-7)


@pytest.mark.parametrize("family", ["bert", "deberta-v2", "gpt2", "t5"])
def test_checkpointing_keeps_the_padding_of_each_batch(family: str) -> None:
    """Two batches go forward before either goes backward, where their layers run again."""
    found = []
    for checkpointed in (False, True):
        model = classifier(family).train()
        if checkpointed:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        connect(model, quiet)
        torch.manual_seed(0)
        first, second = model(**batch((7, 12))).logits, model(**batch((12, 4))).logits
        (first.square().sum() + 2 * second.square().sum()).backward()
        found.append(gradients(model))
    assert_equal(*found, within=1e-6)


def test_checkpointing_does_not_make_descent_start_over() -> None:
    counts = []
    for checkpointed in (False, True):
        model = classifier("bert").train()
        if checkpointed:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        connect(model, replace(im_bert, layers="2"))
        counted = count_calls(find_layers(model)[1].attention)
        loss = model(**batch((7, 12, 4)), labels=LABELS).loss
        forward = len(counted)
        loss.backward()
        counts.append((forward, len(counted)))
    # the layer's own call, five steps and a measurement; once more to get them back
    assert counts == [(7, 7), (7, 14)]


@pytest.mark.parametrize("products", [3, 9])
def test_checkpointing_does_not_run_the_layer_for_each_product_of_the_adjoint(
    products: int,
) -> None:
    backward = ImplicitFunction(Anderson(max_steps=products, tolerance=0.0), on_failure="keep")
    solver = Anderson(max_steps=4, tolerance=0.0)
    counts = []
    for checkpointed in (False, True):
        model = classifier("bert").train()
        if checkpointed:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        connect(model, replace(quiet, layers="2", solver=solver, gradient=backward))
        counted = count_calls(find_layers(model)[1].attention)
        loss = model(**batch((7, 12, 4)), labels=LABELS).loss
        forward = len(counted)
        loss.backward()
        counts.append((forward, len(counted)))
    # the layer's own call, four of the solve and one to differentiate; once more to get them back
    assert counts == [(6, 6), (6, 12)]


def count_calls(module: nn.Module) -> list[None]:
    calls: list[None] = []
    module.register_forward_hook(lambda *_: calls.append(None))
    return calls


# Dropout --------------------------------------------------------------------------------------


def in_training(family: str, connection: Connection) -> tuple[PreTrainedModel, Connected]:
    model = classifier(family).train()
    return model, connect(model, connection)


@families
def test_frozen_masks_let_the_solve_converge(family: str) -> None:
    tight = Connection(
        scheme=Theta(), solver=Anderson(40, 1e-4, memory=6), dropout="frozen", on_failure="raise"
    )
    model, handle = in_training(family, tight)
    torch.manual_seed(3)
    model(**batch((7, 12, 4)))
    assert all(reading.converged == 1.0 for reading in handle.readings())
    assert all(reading.residual_before > 1e-2 for reading in handle.readings())


def test_the_frozen_masks_are_those_of_the_layers_own_call() -> None:
    """Of each example, also when the others have finished: the batch may not be cut here."""
    model, _ = in_training("bert", Connection(scheme=Theta(), solver=Anderson(40, 1e-4, memory=6)))
    inputs, states = batch((9, 3, 7, 5, 12, 4)), []
    for layer in find_layers(model):
        layer.register_forward_pre_hook(lambda *_: states.append(torch.get_rng_state()))
    with torch.no_grad():
        spy = spy_on(model, inputs)
        for number, state in enumerate(states, start=1):
            h, x = spy.before(number), spy.after(number)
            images = []
            for point in (h, x):
                torch.set_rng_state(state)
                images.append(spy.phi(number, point))
            wanted = (0.5 * h + 0.5 * images[0] + 0.5 * images[1]) / 1.5
            real = inputs["attention_mask"].unsqueeze(2)
            sizes = [(part * real).flatten(1).norm(dim=1) for part in (x - wanted, wanted)]
            assert float((sizes[0] / sizes[1]).max()) < 1.01e-4


@families
@pytest.mark.parametrize("dropout", ["frozen", "resample", "off"])
def test_what_follows_draws_as_if_the_layer_had_run_once(family: str, dropout: str) -> None:
    model = classifier(family).train()
    torch.manual_seed(3)
    model(**batch((7, 12)))
    wanted = torch.get_rng_state()
    connect(model, replace(quiet, dropout=dropout))
    torch.manual_seed(3)
    model(**batch((7, 12)))
    assert torch.equal(torch.get_rng_state(), wanted)


def test_resampled_masks_leave_nothing_to_converge_to() -> None:
    settings = Connection(
        scheme=Theta(), solver=Anderson(20, 1e-4, memory=6), dropout="resample", on_failure="keep"
    )
    model, handle = in_training("bert", settings)
    torch.manual_seed(3)
    model(**batch((7, 12, 4)))
    assert all(reading.converged == 0.0 for reading in handle.readings())
    assert all(reading.residual_after > 1e-3 for reading in handle.readings())


def test_dropout_off_solves_the_equation_of_the_bare_layer() -> None:
    scheme = implicit_euler("bert")
    settings = Connection(
        scheme=scheme, solver=Anderson(40, 1e-4, memory=6), dropout="off", on_failure="raise"
    )
    model, _ = in_training("bert", settings)
    with torch.no_grad():
        spy = spy_on(model, batch((9, 9)))
        assert all(part.training for part in model.modules())
        model.eval()
        for number in (1, 2, 3):
            h, x = spy.before(number), spy.after(number)
            wanted = h + scheme.step * spy.phi(number, x)
            assert float((x - wanted).norm() / wanted.norm()) < 2e-4


def test_a_model_in_use_draws_nothing() -> None:
    model = classifier("bert")
    connect(model, quiet)
    before = torch.get_rng_state()
    model(**batch((7, 12)))
    assert torch.equal(torch.get_rng_state(), before)


# Precision ------------------------------------------------------------------------------------


def assert_solved_in_single(handle: Connected) -> None:
    for hook in handle.hooks:
        assert all(r.residual_after.dtype == torch.float32 for r in hook.tally.held)
    for reading in handle.readings():
        assert reading.converged == 1.0
        assert reading.residual_before > reading.residual_after


@families
def test_models_in_half_precision(family: str) -> None:
    model = classifier(family).train()
    plain = step(model)
    handle = connect(
        model.bfloat16(), replace(recommended, solver=Anderson(20), on_failure="raise")
    )
    torch.manual_seed(3)
    output = model(**batch((7, 12, 4)), labels=LABELS)
    output.loss.backward()
    assert output.logits.dtype == torch.bfloat16
    assert_solved_in_single(handle)
    assert set(gradients(model)) == set(plain)
    assert all(bool(value.isfinite().all()) for value in gradients(model).values())


@pytest.mark.parametrize("solver", [Anderson(20), Broyden(20), Descent()])
@pytest.mark.parametrize("family", ["bert", "modernbert", "t5"])
def test_autocast(family: str, solver: Anderson | Broyden | Descent) -> None:
    model = classifier(family).train()
    plain = step(model)
    handle = connect(model, replace(quiet, solver=solver))
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(3)
        output = model(**batch((7, 12, 4)), labels=LABELS)
    output.loss.backward()
    assert_reaches(gradients(model), plain)
    if not isinstance(solver, Descent):
        assert_solved_in_single(handle)


def test_under_autocast_the_layer_runs_in_half_and_the_solver_does_not() -> None:
    model = classifier("bert")
    handle = connect(model, replace(quiet, solver=Anderson(20)))
    inner: list[torch.dtype] = []
    find_layers(model)[0].attention.self.query.register_forward_hook(
        lambda module, args, output: inner.append(output.dtype)
    )
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        model(**batch((7, 12, 4)))
    assert len(inner) == 1 + handle.readings()[0].evaluations
    assert set(inner) == {torch.bfloat16}


# Inference ------------------------------------------------------------------------------------


def test_inference_mode_runs_what_needs_no_gradient() -> None:
    model, inputs = classifier("bert"), batch((7, 12, 4))
    for solver in (FixedPoint(), Anderson(), Broyden()):
        with connect(model, replace(quiet, solver=solver)):
            with torch.no_grad():
                wanted = model(**inputs).logits
            with torch.inference_mode():
                assert torch.equal(model(**inputs).logits, wanted)


def test_no_graph_and_no_warning_without_gradients() -> None:
    model = classifier("bert")
    connect(model, im_bert)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model(**batch((7, 12, 4))).logits.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())


def test_masks_are_frozen_where_dropout_alone_is_on() -> None:
    model = classifier("bert").eval()
    for part in model.modules():  # to sample answers: Monte Carlo dropout
        part.training = isinstance(part, nn.Dropout)
    tight = Connection(scheme=Theta(), solver=Anderson(40, 1e-4, memory=6), on_failure="raise")
    handle = connect(model, tight)
    with torch.no_grad():
        one, other = (model(**batch((7, 12, 4))).logits for _ in range(2))
    assert not torch.equal(one, other)  # dropout is on
    assert all(reading.converged == 1.0 for reading in handle.readings())
