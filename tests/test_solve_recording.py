"""Work that is being recorded: all steps are taken, nothing is noted, nothing looks at a number."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
import transformers.masking_utils
from families import batch, classifier
from objective_cases import adversarial_batch
from problems import BATCH, Recorded, contraction, normal
from torch.utils._python_dispatch import TorchDispatchMode

from holdfast.implicit import Connection, ImplicitEuler, Theta, connect
from holdfast.objectives import R3F, Adversarial, FreeLB, Rift, Smart, Standard
from holdfast.solve import Anderson, Descent, Detached, FixedPoint, ImplicitFunction, Phantom
from holdfast.solve.recording import is_recording, recording

aten = torch.ops.aten
LOOKS = {
    aten._local_scalar_dense.default,  # item, float, int, bool
    aten.nonzero.default,
    aten.masked_select.default,
    aten.equal.default,
    aten._unique2.default,
    aten.repeat_interleave.Tensor,
}
"""What a device must be waited for: a number, or a shape that depends on numbers."""


class Looked(AssertionError):
    pass


class Unseeing(TorchDispatchMode):
    """Refuses to tell a number, in forward and backward passes."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        cut = func in (aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default)
        masks = [i for i in args[1] if i is not None and i.dtype == torch.bool] if cut else []
        if func in LOOKS or masks:
            raise Looked(str(func))
        return func(*args, **(kwargs or {}))


@contextmanager
def recorded_blindly(monkeypatch):
    """Record as a GPU does, where numbers are out of sight and transformers asks for none."""
    with monkeypatch.context() as patch, recording(), Unseeing():
        patch.setattr(transformers.masking_utils, "is_tracing", lambda *_: True)
        patch.setattr(torch.Tensor, "tolist", refuse)
        patch.setattr(torch.Tensor, "numpy", refuse)
        yield


def refuse(*_, **__):
    raise Looked("tolist or numpy")


# -- the context ----------------------------------------------------------------------------------


def test_only_what_is_inside_is_recorded() -> None:
    assert not is_recording()
    with recording():
        with recording():
            assert is_recording()
        assert is_recording()
    assert not is_recording()


def test_a_recording_that_fails_ends() -> None:
    with pytest.raises(ZeroDivisionError), recording():
        raise ZeroDivisionError
    assert not is_recording()


# -- solvers --------------------------------------------------------------------------------------

SOLVERS = [Anderson(max_steps=30), FixedPoint(max_steps=30), FixedPoint(30, damping=0.8)]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_all_steps_are_taken_and_the_value_is_the_same(solver) -> None:
    free, bound = Recorded(contraction.g), Recorded(contraction.g)
    plain = solver(free, contraction.start)
    with recording():
        found = solver(bound, contraction.start)
    assert bool(plain.converged.all())
    assert plain.evaluations < found.evaluations == len(bound.calls) == solver.max_steps
    for name in ("value", "residual", "start_residual", "converged"):
        assert torch.equal(getattr(found, name), getattr(plain, name)), name


def test_descent_spends_no_evaluation_on_a_number_nobody_sees() -> None:
    free, bound = Recorded(contraction.g), Recorded(contraction.g)
    plain = Descent(steps=3)(free, contraction.start)
    with recording():
        found = Descent(steps=3)(bound, contraction.start)
    assert torch.equal(found.value, plain.value)
    assert found.evaluations == len(bound.calls) == len(free.calls) - 1 == 3


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_examples_finish_one_by_one_as_they_do_alone(solver) -> None:
    start = contraction.answer.clone()
    start[1:] += normal(BATCH - 1, *start.shape[1:], seed=9)  # the first has arrived already
    plain = solver(contraction.g, start)
    with recording():
        found = solver(contraction.g, start)
    assert torch.equal(found.value[0], start[0])
    assert torch.equal(found.value, plain.value)


def test_a_solver_looks_at_numbers_unless_it_is_recorded(monkeypatch) -> None:
    with pytest.raises(Looked), Unseeing():
        Anderson()(contraction.g, contraction.start)
    with recorded_blindly(monkeypatch):
        Anderson()(contraction.g, contraction.start)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x[0] > 0),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.equal(x, x.clone()),
        lambda x: x.tolist(),
        lambda x: x.unique(),
    ],
)
def test_whoever_looks_is_caught(look, monkeypatch) -> None:
    with pytest.raises(Looked), recorded_blindly(monkeypatch):
        look(torch.arange(3.0))


def test_a_backward_solve_in_another_thread_knows_that_it_is_recorded() -> None:
    """As autograd runs those of a GPU."""
    products = []

    def g(x: torch.Tensor) -> torch.Tensor:
        image = contraction.g(x)
        if image.requires_grad:
            image.register_hook(products.append)
        return image

    strict = ImplicitFunction(Anderson(max_steps=5, tolerance=0.0), on_failure="raise")
    start = contraction.start.clone().requires_grad_()
    with recording():
        found = strict(FixedPoint(max_steps=30), g, start)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(found.value.sum().backward).result()
    assert len(products) > 5  # and nobody looked whether it had converged


# -- connected layers -----------------------------------------------------------------------------

ANDERSON = Connection(
    scheme=Theta(), solver=Anderson(), gradient=Phantom(), dropout="off", on_failure="keep"
)
DESCENT = Connection(
    scheme=ImplicitEuler(),
    solver=Descent(steps=2),
    gradient=Detached(),
    dropout="off",
    on_failure="keep",
)


def test_nothing_is_noted_while_it_is_recorded() -> None:
    model = classifier("bert")
    strict = replace(ANDERSON, solver=Anderson(max_steps=1, tolerance=0.0), on_failure="raise")
    handle = connect(model, strict)
    with recording(), torch.no_grad():
        model(**batch((7, 4)))  # nobody is told that no layer was solved
    assert [hook.tally.calls for hook in handle.hooks] == [0] * 3
    handle.remove()
    handle = connect(model, ANDERSON)
    with torch.no_grad():
        model(**batch((7, 4)))
    assert [hook.tally.calls for hook in handle.hooks] == [1] * 3


def test_a_connected_model_says_the_same_while_it_is_recorded() -> None:
    model = classifier("bert")
    connect(model, ANDERSON)
    inputs = batch((7, 4, 6))
    with torch.no_grad():
        plain = model(**inputs).logits
        with recording():
            found = model(**inputs).logits
    # without it solved examples leave the batch, whose sums round differently
    torch.testing.assert_close(found, plain, rtol=0, atol=1e-5)


# -- a whole step looks at no number --------------------------------------------------------------

OBJECTIVES = [Standard(), R3F(), FreeLB(), Smart(), Adversarial(steps=2), Rift(steps=2)]
CONNECTIONS = {"plain": None, "anderson": ANDERSON, "descent": DESCENT}


@pytest.mark.parametrize(("attention", "precision"), [("eager", None), ("sdpa", torch.bfloat16)])
@pytest.mark.parametrize("connection", CONNECTIONS)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
def test_a_step_looks_at_no_number(
    objective, connection, attention, precision, monkeypatch
) -> None:
    model = classifier("bert", attention=attention).train()
    if CONNECTIONS[connection] is not None:
        connect(model, CONNECTIONS[connection])
    extras, inputs = objective.extras(model), adversarial_batch()
    casting = torch.autocast("cpu", dtype=precision, enabled=precision is not None)
    with recorded_blindly(monkeypatch):
        passes = 0
        with casting:
            for loss in objective.losses(model, extras, inputs):
                loss.total.backward()
                passes += 1
    assert passes == objective.passes
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)
    assert model.classifier.weight.grad is not None
