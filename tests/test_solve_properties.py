"""Properties that hold for every equation, tried on random ones."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import affine, normal, with_eigenvalues

from holdfast.solve import Anderson, Broyden, FixedPoint, Solver

SOLVERS = [
    FixedPoint(12, 1e-3),
    Anderson(8, 1e-3),
    Anderson(8, 1e-3, memory=2, mixing="token"),
    Broyden(8, 1e-3, memory=3),
]
some = settings(max_examples=20)
seeds = st.integers(0, 10_000)
contractions = st.lists(st.floats(-0.95, 0.95), min_size=6, max_size=6)
any_slopes = st.lists(st.floats(-4.0, 4.0), min_size=6, max_size=6)
batches = st.integers(2, 5)


def equation(eigenvalues: list[float], batch: int, seed: int):
    matrices = with_eigenvalues(eigenvalues, seed=seed, batch=batch)
    offset = normal(batch, 3, 2, seed=seed + 1)
    return matrices, offset, normal(batch, 3, 2, seed=seed + 2)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@some
@given(any_slopes, batches, seeds)
def test_the_residual_never_ends_above_where_it_started(
    solver: Solver, eigenvalues: list[float], batch: int, seed: int
) -> None:
    matrices, offset, start = equation(eigenvalues, batch, seed)
    solution = solver(affine(matrices, offset), start)
    assert bool((solution.residual <= solution.start_residual).all())
    assert bool(solution.value.isfinite().all())


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@some
@given(contractions, batches, seeds)
def test_permuting_the_batch_permutes_the_solution(
    solver: Solver, eigenvalues: list[float], batch: int, seed: int
) -> None:
    matrices, offset, start = equation(eigenvalues, batch, seed)
    order = torch.randperm(batch, generator=torch.Generator().manual_seed(seed))
    solution = solver(affine(matrices, offset), start)
    permuted = solver(affine(matrices[order], offset[order]), start[order])
    torch.testing.assert_close(permuted.value, solution.value[order], rtol=0, atol=1e-6)
    torch.testing.assert_close(permuted.residual, solution.residual[order], rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@some
@given(contractions, batches, seeds)
def test_companions_do_not_change_an_example(
    solver: Solver, eigenvalues: list[float], batch: int, seed: int
) -> None:
    matrices, offset, start = equation(eigenvalues, batch, seed)
    together = solver(affine(matrices, offset), start)
    alone = solver(affine(matrices[:1], offset[:1]), start[:1])
    torch.testing.assert_close(alone.value, together.value[:1], rtol=0, atol=1e-6)
    assert alone.evaluations <= together.evaluations
