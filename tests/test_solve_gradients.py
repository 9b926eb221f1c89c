"""The derivative of a solution, three ways: finite differences, unrolled, implicit."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from problems import normal
from torch import Tensor

from holdfast.errors import InputError, RunFailed
from holdfast.solve import (
    Anderson,
    Broyden,
    Descent,
    Detached,
    FixedPoint,
    Gradient,
    ImplicitFunction,
    Phantom,
    Solution,
    Solver,
    Unrolled,
)

TIGHT = FixedPoint(max_steps=400, tolerance=1e-14)
EXACT: dict[str, Gradient] = {
    "unrolled": Unrolled(),
    "phantom": Phantom(steps=200),
    "damped phantom": Phantom(steps=300, damping=0.7),
    "implicit by iteration": ImplicitFunction(TIGHT),
    "implicit by Anderson": ImplicitFunction(Anderson(200, 1e-13, memory=6)),
    "implicit by Broyden": ImplicitFunction(Broyden(200, 1e-13, memory=12)),
}
ALL: dict[str, Gradient] = {**EXACT, "detached": Detached(), "one phantom step": Phantom()}
SOLVERS: dict[str, Solver] = {
    "fixed point": FixedPoint(20, 1e-3),
    "anderson": Anderson(8, 1e-3),
    "token anderson": Anderson(8, 1e-3, mixing="token"),
    "broyden": Broyden(8, 1e-3),
    "descent": Descent(3, 0.1),
}
WEIGHT, START, DIRECTION = (
    0.7 * torch.linalg.qr(normal(4, 4, seed=20))[0],
    normal(2, 3, 4, seed=21),
    normal(4, 4, seed=22),
)


def layer(weight: Tensor, start: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a contraction that depends on a weight and, as a layer on h, on its start."""
    return lambda x: torch.tanh(x @ weight + x.roll(1, dims=1) @ weight / 4 + start)


def loss(solution: Solution) -> Tensor:
    return (solution.value * normal(2, 3, 4, seed=23)).sum()


def solve(gradient: Gradient, solver: Solver, weight: Tensor, start: Tensor) -> Solution:
    return gradient(solver, layer(weight, start), start)


def derivatives(gradient: Gradient, solver: Solver) -> tuple[Tensor, Tensor]:
    weight, start = WEIGHT.clone().requires_grad_(), START.clone().requires_grad_()
    value = loss(solve(gradient, solver, weight, start))
    return torch.autograd.grad(value, (weight, start), allow_unused=True)


@pytest.mark.parametrize("gradient", EXACT)
def test_exact_gradients_agree_with_finite_differences(gradient: str) -> None:
    step = 1e-5
    with torch.no_grad():
        above = loss(solve(Detached(), TIGHT, WEIGHT + step * DIRECTION, START))
        below = loss(solve(Detached(), TIGHT, WEIGHT - step * DIRECTION, START))
    found = derivatives(EXACT[gradient], TIGHT)[0]
    slope = float((above - below) / (2 * step))
    assert float((found * DIRECTION).sum()) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("gradient", EXACT)
def test_exact_gradients_agree_with_each_other(gradient: str) -> None:
    for found, wanted in zip(
        derivatives(EXACT[gradient], TIGHT), derivatives(Unrolled(), TIGHT), strict=True
    ):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)


def test_unrolling_any_solver_far_enough_gives_the_same_derivative() -> None:
    """Each is exact for what it computed; computed far enough, that is the solution."""
    wanted = derivatives(Unrolled(), TIGHT)
    for solver in (Anderson(30, 1e-11, memory=3), Broyden(30, 1e-11, memory=12)):
        for found, exact in zip(derivatives(Unrolled(), solver), wanted, strict=True):
            torch.testing.assert_close(found, exact, rtol=0, atol=1e-4)


def test_unrolled_is_the_derivative_of_what_was_computed() -> None:
    """Far from the solution too: unlike the others, it knows nothing of an equation."""
    for solver in (FixedPoint(3, 0.0), Anderson(4, 0.0, memory=2), Broyden(4, 0.0, memory=2)):
        step = 1e-6
        above = loss(solve(Unrolled(), solver, WEIGHT + step * DIRECTION, START))
        below = loss(solve(Unrolled(), solver, WEIGHT - step * DIRECTION, START))
        found = derivatives(Unrolled(), solver)[0]
        slope = float((above - below) / (2 * step))
        assert float((found * DIRECTION).sum()) == pytest.approx(slope, rel=1e-6)


def test_detached_is_the_derivative_of_the_start() -> None:
    weight, start = derivatives(Detached(), SOLVERS["anderson"])
    assert weight is None
    torch.testing.assert_close(start, normal(2, 3, 4, seed=23))


def test_a_phantom_step_is_the_derivative_of_one_evaluation_at_the_solution() -> None:
    solver = SOLVERS["anderson"]
    point = solve(Detached(), solver, WEIGHT, START).value
    weight = WEIGHT.clone().requires_grad_()
    for damping in (1.0, 0.3):
        image = (1 - damping) * point + damping * layer(weight, START)(point)
        (wanted,) = torch.autograd.grad((image * normal(2, 3, 4, seed=23)).sum(), weight)
        found = derivatives(Phantom(1, damping), solver)[0]
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("solver", SOLVERS)
def test_values_do_not_depend_on_the_gradient(solver: str) -> None:
    wanted = solve(Detached(), SOLVERS[solver], WEIGHT, START)
    for gradient in ALL.values():
        weight, start = WEIGHT.clone().requires_grad_(), START.clone().requires_grad_()
        found = solve(gradient, SOLVERS[solver], weight, start)
        assert torch.equal(found.value, wanted.value)
        assert torch.equal(found.residual, wanted.residual)
        assert found.evaluations == wanted.evaluations
        assert found.value.requires_grad
        assert not found.residual.requires_grad


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("gradient", ALL)
def test_no_graph_is_kept_where_none_is_wanted(gradient: str, solver: str) -> None:
    weight, start = WEIGHT.clone().requires_grad_(), START.clone().requires_grad_()
    with torch.no_grad():
        found = solve(ALL[gradient], SOLVERS[solver], weight, start)
    assert not found.value.requires_grad
    assert not found.residual.requires_grad


def test_no_evaluation_is_wasted_without_gradients() -> None:
    for gradient in ALL.values():
        calls = 0

        def g(x: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            return layer(WEIGHT, START)(x)

        with torch.no_grad():
            solution = gradient(SOLVERS["anderson"], g, START)
        assert solution.evaluations == calls


@pytest.mark.parametrize("gradient", ALL)
def test_rows_of_zeros_have_finite_derivatives(gradient: str) -> None:
    """As padding: no residual to divide by, and nothing may become not-a-number."""
    real = torch.tensor([[True, True, False], [True, False, False]]).unsqueeze(2)
    weight, start = WEIGHT.clone().requires_grad_(), START.clone().requires_grad_()
    for name in ("token anderson", "anderson", "descent"):
        masked = torch.where(real, start, 0.0)
        g = layer(weight, masked)
        solution = ALL[gradient](SOLVERS[name], lambda x, g=g: torch.where(real, g(x), 0.0), masked)
        for found in torch.autograd.grad(loss(solution), (weight, start), allow_unused=True):
            assert found is None or bool(found.isfinite().all())


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
@pytest.mark.parametrize("solver", [Broyden(6, 0.0), Anderson(6, 0.0), FixedPoint(6, 0.0)])
def test_unrolling_past_the_solution_divides_by_nothing(
    solver: Solver, precision: torch.dtype
) -> None:
    """The first example's map is constant: it is solved by one image, and then nothing moves."""
    start = START.clone().to(precision).requires_grad_()
    weight = WEIGHT.clone().to(precision).requires_grad_()
    moving = torch.tensor([0.0, 1.0], dtype=precision).view(2, 1, 1)
    solution = Unrolled()(solver, lambda x: layer(weight, start)(moving * x), start)
    assert float(solution.residual[0]) == 0.0
    value = (solution.value * normal(2, 3, 4, seed=23).to(precision)).sum()
    for found in torch.autograd.grad(value, (weight, start)):
        assert bool(found.isfinite().all())
        assert float(found.abs().max()) > 0


def test_a_phantom_gradient_takes_at_least_one_step() -> None:
    with pytest.raises(InputError, match=r"Phantom\.steps is 0; expected 1 or more"):
        Phantom(steps=0)


def test_a_known_pair_is_no_path_for_gradients_of_an_apart_solve() -> None:
    start = START.clone().requires_grad_()
    known = (start, layer(WEIGHT, start)(start))
    solution = Detached()(SOLVERS["anderson"], layer(WEIGHT, START), START, known)
    assert not solution.value.requires_grad


def test_a_second_derivative_of_the_equation_is_refused() -> None:
    weight = WEIGHT.clone().requires_grad_()
    value = loss(solve(ImplicitFunction(TIGHT), TIGHT, weight, START))
    with pytest.raises(RunFailed, match="differentiate twice with Unrolled"):
        torch.autograd.grad(value, weight, create_graph=True)


@pytest.mark.parametrize("policy", ["warn", "raise", "keep"])
def test_a_backward_solve_that_fails_is_told(policy: str) -> None:
    hasty = ImplicitFunction(FixedPoint(max_steps=1, tolerance=1e-9), on_failure=policy)
    weight = WEIGHT.clone().requires_grad_()
    value = loss(solve(hasty, TIGHT, weight, START))
    told = {
        "warn": pytest.warns(UserWarning, match="gradient is not that of the equation"),
        "raise": pytest.raises(RunFailed, match="gradient is not that of the equation"),
        "keep": nullcontext(),
    }
    with told[policy]:
        value.backward()


def test_a_map_that_does_not_look_at_its_point_has_its_own_derivative() -> None:
    weight = WEIGHT.clone().requires_grad_()
    found = ImplicitFunction(TIGHT)(TIGHT, lambda x: torch.tanh(START @ weight), START)
    loss(found).backward()
    assert weight.grad is not None
    value = (torch.tanh(START @ weight) * normal(2, 3, 4, seed=23)).sum()
    assert torch.allclose(weight.grad, torch.autograd.grad(value, weight)[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Phantom(damping=0.0),
        lambda: Anderson(damping=0.0),
        lambda: Anderson(tolerance=float("nan")),
        lambda: Anderson(ridge=-1.0),
        lambda: FixedPoint(damping=0.0),
        lambda: Broyden(tolerance=-1.0),
        lambda: Descent(step_size=-0.1),
    ],
)
def test_settings_that_do_nothing_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="expected"):
        make()
