"""`Descent` against Algorithm 1 of the paper, written out naively."""

import pytest
import torch
from problems import Recorded, normal
from torch import Tensor, nn

from holdfast.errors import InputError
from holdfast.solve import Descent, Detached, Unrolled, relative_residual

NORMS = {
    "squared_sum": lambda r: (r**2).sum(),
    "l2_example": lambda r: sum(torch.linalg.vector_norm(example) for example in r),
    "l2_token": lambda r: sum(torch.linalg.vector_norm(t) for example in r for t in example),
}
GAMMA, STEPS = 0.1, 5


def problem() -> tuple[nn.Linear, Tensor]:
    torch.manual_seed(30)
    return nn.Linear(4, 4).double(), normal(2, 3, 4, seed=31)


def phi(linear: nn.Linear, h: Tensor) -> Tensor:
    return torch.tanh(linear(h) + h.roll(1, dims=1))


def algorithm_1(linear: nn.Linear, h_prev: Tensor, norm: str, second_order: bool) -> Tensor:
    h = h_prev + phi(linear, h_prev)
    for _ in range(STEPS):
        if not second_order:
            h = h.detach().requires_grad_()
        loss = NORMS[norm](h - h_prev - phi(linear, h))
        (gradient,) = torch.autograd.grad(loss, h, create_graph=second_order)
        h = h - GAMMA * gradient
    return h


def descend(linear: nn.Linear, h_prev: Tensor, norm: str, gradient) -> Tensor:
    solver = Descent(steps=STEPS, step_size=GAMMA, norm=norm)
    start = h_prev + phi(linear, h_prev)
    return gradient(solver, lambda x: h_prev + phi(linear, x), start).value


@pytest.mark.parametrize("norm", NORMS)
def test_values_are_those_of_algorithm_1(norm: str) -> None:
    linear, h = problem()
    wanted = algorithm_1(linear, h, norm, second_order=False)
    for gradient in (Detached(), Unrolled()):
        found = descend(linear, h, norm, gradient)
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)
    with torch.no_grad():  # the inner gradient is needed here as well
        torch.testing.assert_close(descend(linear, h, norm, Unrolled()), wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_second_order_gradients_are_those_of_algorithm_1(norm: str) -> None:
    linear, h = problem()
    h.requires_grad_()
    inputs = (h, *linear.parameters())
    wanted = torch.autograd.grad(algorithm_1(linear, h, norm, True).square().sum(), inputs)
    found = torch.autograd.grad(descend(linear, h, norm, Unrolled()).square().sum(), inputs)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


def test_second_order_reaches_parameters_from_a_constant_start() -> None:
    linear, h = problem()
    solver, inputs = Descent(1, GAMMA, "squared_sum"), tuple(linear.parameters())
    found = Unrolled()(solver, lambda x: phi(linear, x), h).value.square().sum()
    point = h.clone().requires_grad_()
    loss = (point - phi(linear, point)).square().sum()
    (gradient,) = torch.autograd.grad(loss, point, create_graph=True)
    wanted = (h - GAMMA * gradient).square().sum()
    for one, other in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(wanted, inputs), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("norm", NORMS)
def test_first_order_gradients_are_those_of_the_explicit_path(norm: str) -> None:
    linear, h = problem()
    h.requires_grad_()
    inputs, weights = (h, *linear.parameters()), normal(2, 3, 4, seed=32)
    wanted = torch.autograd.grad(((h + phi(linear, h)) * weights).sum(), inputs)
    found = torch.autograd.grad((descend(linear, h, norm, Detached()) * weights).sum(), inputs)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("gradient", [Detached(), Unrolled()])
def test_the_solve_leaves_no_gradient_on_parameters(gradient) -> None:
    linear, h = problem()
    h.requires_grad_()
    descend(linear, h, "squared_sum", gradient)
    assert h.grad is None
    assert all(parameter.grad is None for parameter in linear.parameters())


@pytest.mark.parametrize(("measure", "evaluations"), [(True, 6), (False, 5)])
def test_measuring_costs_one_evaluation(measure: bool, evaluations: int) -> None:
    linear, h = problem()
    g = Recorded(lambda x: h + phi(linear, x))
    solution = Descent(STEPS, GAMMA, "l2_example", measure=measure)(g, h)
    assert solution.evaluations == len(g.calls) == evaluations
    assert solution.products == STEPS
    assert torch.equal(solution.residual, relative_residual(*g.calls[-1]))
    assert torch.equal(solution.start_residual, relative_residual(*g.calls[0]))


def test_no_steps_return_the_start_and_its_residual() -> None:
    linear, h = problem()
    g = Recorded(lambda x: h + phi(linear, x))
    solution = Descent(steps=0)(g, h)
    assert torch.equal(solution.value, h)
    assert torch.equal(solution.residual, relative_residual(*g.calls[0]))
    assert solution.products == 0


def test_a_residual_of_zero_has_a_gradient() -> None:
    for norm in NORMS:
        solution = Descent(STEPS, GAMMA, norm)(lambda x: x.clone(), normal(2, 3, 4, seed=33))
        assert bool(solution.value.isfinite().all())
        assert bool(solution.converged.all())


def test_half_precision_does_not_overflow() -> None:
    """Squares of 1.5 million entries in float16 would."""
    start = torch.full((2, 300, 300), 10.0, dtype=torch.float16)
    solution = Descent(1, 0.1, "squared_sum")(lambda x: x / 2, start)
    assert bool(solution.value.isfinite().all())
    assert solution.residual.dtype == torch.float32


def test_inference_mode_is_refused() -> None:
    with torch.inference_mode(), pytest.raises(InputError, match=r"torch\.no_grad\(\).*Anderson"):
        Descent()(torch.cos, torch.zeros(1, 2))
    with torch.inference_mode():
        born_there = torch.zeros(1, 2)
    with pytest.raises(InputError, match="inference_mode"):
        Descent()(torch.cos, born_there)


@pytest.mark.parametrize("grad", [True, False])
def test_a_map_that_does_not_look_at_its_argument_is_descended_to(grad):
    target = torch.ones(2, 3, requires_grad=grad)
    start = torch.zeros(2, 3)
    found = Descent(1, 0.5, "squared_sum")(lambda point: 1.0 * target, start)
    assert torch.equal(found.value, torch.ones(2, 3))  # by half of twice the residual
