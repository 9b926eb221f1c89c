"""Singular values and spectral radius of maps whose Jacobian is known."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from holdfast.errors import InputError
from holdfast.implicit.spectrum import Linearisation, spectrum

BATCH, TOKENS, WIDTH = 3, 4, 5
SIZE = TOKENS * WIDTH


def matrices(seed: int = 0) -> Tensor:
    """One matrix for each example; each mixes all tokens and features of its example."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, SIZE, SIZE, generator=generator, dtype=torch.float64) / SIZE**0.5


def linear(a: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.einsum("bij,bj->bi", a, x.flatten(1)).reshape(x.shape)


def point(seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, TOKENS, WIDTH, generator=generator, dtype=torch.float64)


def top(a: Tensor) -> Tensor:
    return torch.linalg.matrix_norm(a, ord=2)


def test_linear_map_against_dense_decompositions() -> None:
    a = matrices()
    found = spectrum(linear(a), point(), iterations=500, tolerance=1e-6)
    identity = torch.eye(SIZE, dtype=torch.float64)
    assert bool(found.defect.converged.all() & found.contraction.converged.all())
    torch.testing.assert_close(found.defect.value, top(identity - a), rtol=1e-3, atol=0)
    torch.testing.assert_close(found.contraction.value, top(a), rtol=1e-3, atol=0)


def test_nonlinear_map_against_its_dense_jacobian() -> None:
    a, x = 2 * matrices(), point()

    def g(h: Tensor) -> Tensor:
        return torch.tanh(linear(a)(h)) + 0.1 * h**2

    slope = 1 - torch.tanh(linear(a)(x)).flatten(1) ** 2
    jacobian = slope[:, :, None] * a + torch.diag_embed(0.2 * x.flatten(1))
    found = spectrum(g, x, iterations=500, tolerance=1e-6)
    torch.testing.assert_close(found.contraction.value, top(jacobian), rtol=1e-3, atol=0)


def test_products_are_those_of_the_jacobian() -> None:
    a, v = matrices(), point(5)
    jacobian = Linearisation(linear(a), point())
    torch.testing.assert_close(jacobian.push(v), linear(a)(v))
    torch.testing.assert_close(jacobian.pull(v), linear(a.mT)(v))


def test_radius_of_a_rotation_and_of_a_nilpotent_map() -> None:
    turn = 0.8 * torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    rotations = torch.block_diag(turn, 0.3 * torch.eye(SIZE - 2, dtype=torch.float64))
    rotations = rotations.expand(BATCH, -1, -1)
    found = spectrum(linear(rotations), point(), iterations=500, tolerance=1e-8)
    assert found.radius.value.tolist() == pytest.approx([0.8] * BATCH, rel=1e-6)
    assert bool(found.radius.converged.all())
    # A shift expands in no direction by less than 1, yet applied often enough it is zero.
    shift = torch.diag(torch.ones(SIZE - 1, dtype=torch.float64), 1).expand(BATCH, -1, -1)
    found = spectrum(linear(shift), point(), iterations=200, tolerance=0.0)
    assert found.contraction.value.max() == pytest.approx(1.0, abs=1e-3)
    assert found.radius.value.max() < 1e-6


def test_radius_against_dense_eigenvalues() -> None:
    # A gap below the dominant value: without one, no power iteration settles.
    a = matrices(3)
    values, vectors = torch.linalg.eig(a)
    leading = values.abs() >= values.abs().amax(-1, keepdim=True) - 1e-9
    a = (
        vectors
        @ torch.diag_embed(torch.where(leading, 1.0, 0.5) * values)
        @ torch.linalg.inv(vectors)
    ).real
    found = spectrum(linear(a), point(), iterations=500, tolerance=1e-6)
    expected = torch.linalg.eigvals(a).abs().amax(-1)
    torch.testing.assert_close(found.radius.value, expected, rtol=1e-3, atol=0)


def test_padding_is_left_out() -> None:
    a, x = matrices(), point()
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    found = spectrum(linear(a), x, mask, iterations=500, tolerance=1e-6)
    for row, length in enumerate(mask.sum(1).tolist()):
        real = length * WIDTH
        expected = top(a[row, :real, :real])
        torch.testing.assert_close(found.contraction.value[row], expected, rtol=1e-3, atol=0)


def test_an_example_alone_gives_what_it_gives_in_a_batch() -> None:
    a, x = matrices(), point()
    settings = {"iterations": 500, "tolerance": 1e-6}
    together = spectrum(linear(a), x, **settings).defect.value
    alone = [spectrum(linear(a[[i]]), x[[i]], **settings).defect.value for i in range(BATCH)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-3, atol=0)


def test_same_seed_same_numbers_and_too_few_rounds_are_told() -> None:
    a, x = matrices(), point()
    first, second = (spectrum(linear(a), x, iterations=3, tolerance=1e-12) for _ in range(2))
    assert torch.equal(first.defect.value, second.defect.value)
    assert first.defect.iterations == 3
    assert not first.defect.converged.any()
    assert not spectrum(linear(a), x, iterations=1).radius.converged.any()


def test_a_map_that_ignores_part_of_its_input_is_no_problem() -> None:
    found = spectrum(lambda x: 0 * x, point())
    assert found.contraction.value.max() == 0
    torch.testing.assert_close(found.defect.value, torch.ones(BATCH, dtype=torch.float64))


def test_attention_runs_unfused_during_the_inspection() -> None:
    def attend(x: Tensor) -> Tensor:
        heads = x[:, None]
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)[:, 0]

    assert spectrum(attend, point().float()).contraction.value.isfinite().all()


def test_gradients_switched_off_outside_do_not_matter() -> None:
    with torch.no_grad():
        assert spectrum(linear(matrices()), point()).defect.value.min() > 0


def test_mistakes_are_told() -> None:
    with pytest.raises(InputError, match="at least 1"):
        spectrum(linear(matrices()), point(), iterations=0)
    with pytest.raises(InputError, match="The mask has shape"):
        spectrum(linear(matrices()), point(), torch.ones(BATCH, TOKENS + 1))


class _OnceDifferentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        if torch.is_grad_enabled():
            raise RuntimeError("derivative for fused_backward is not implemented")
        return gradient * 2


def test_an_operation_without_second_derivative_is_explained() -> None:
    with pytest.raises(InputError, match='attn_implementation="eager"'):
        spectrum(_OnceDifferentiable.apply, point())
