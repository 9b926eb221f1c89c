"""Every solver on equations whose answers are known, and the promises they all keep."""

from collections.abc import Callable

import problems
import pytest
import torch
from problems import BATCH, TOKENS, WIDTH, Problem, Recorded, normal
from torch import Tensor

from holdfast.errors import InputError
from holdfast.solve import (
    Anderson,
    Broyden,
    Descent,
    FixedPoint,
    Solution,
    Solver,
    relative_residual,
)

TOLERANCE = 1e-9
SOLVERS: dict[str, Solver] = {
    "fixed point": FixedPoint(max_steps=100, tolerance=TOLERANCE),
    "damped fixed point": FixedPoint(max_steps=200, tolerance=TOLERANCE, damping=0.8),
    "anderson": Anderson(max_steps=100, tolerance=TOLERANCE),
    "damped anderson": Anderson(max_steps=100, tolerance=TOLERANCE, damping=0.7),
    "long anderson": Anderson(max_steps=100, tolerance=TOLERANCE, memory=8),
    "broyden": Broyden(max_steps=100, tolerance=TOLERANCE),
    "short broyden": Broyden(max_steps=100, tolerance=TOLERANCE, memory=3),
}
EVALUATORS = ("fixed point", "anderson", "broyden")
QUASI_NEWTON = ("anderson", "long anderson", "broyden")


def names(problem: Problem) -> str:
    return problem.name


def assert_honest(g: Recorded, solution: Solution, tolerance: float) -> None:
    """What a solution says of itself is what one finds by looking again."""
    calls = len(g.calls)
    assert solution.evaluations == calls
    found = relative_residual(solution.value, g(solution.value))
    torch.testing.assert_close(solution.residual, found, rtol=1e-6, atol=1e-15)
    assert torch.equal(solution.converged, solution.residual <= tolerance)
    assert torch.equal(solution.start_residual, relative_residual(*g.calls[0]))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "problem", [problems.contraction, problems.cosine, problems.tanh], ids=names
)
def test_contractions_are_solved(problem: Problem, solver: str) -> None:
    g = Recorded(problem.g)
    solution = SOLVERS[solver](g, problem.start)
    assert bool(solution.converged.all())
    torch.testing.assert_close(solution.value, problem.answer, rtol=0, atol=1e-7)
    assert_honest(g, solution, TOLERANCE)


@pytest.mark.parametrize("solver", QUASI_NEWTON)
@pytest.mark.parametrize("problem", [problems.expansion, problems.nearly_singular], ids=names)
def test_what_no_contraction_is_solved_where_fixed_point_fails(
    problem: Problem, solver: str
) -> None:
    plain = SOLVERS["fixed point"](problem.g, problem.start)
    assert not bool(plain.converged.any())
    g = Recorded(problem.g)
    solution = SOLVERS[solver](g, problem.start)
    assert bool(solution.converged.all())
    # the equation is ill-conditioned by 1 / (1 - 0.999): the answer is as good as that allows
    torch.testing.assert_close(solution.value, problem.answer, rtol=1e-3, atol=1e-6)
    assert_honest(g, solution, TOLERANCE)


@pytest.mark.parametrize(
    "problem", [problems.contraction, problems.tanh, problems.expansion], ids=names
)
def test_descent_on_the_squared_sum_solves(problem: Problem) -> None:
    g = Recorded(problem.g)
    solution = Descent(500, 0.1, "squared_sum", tolerance=1e-6)(g, problem.start)
    torch.testing.assert_close(solution.value, problem.answer, rtol=0, atol=1e-4)
    assert bool(solution.converged.all())
    assert solution.products == 500
    assert_honest(g, solution, 1e-6)


@pytest.mark.parametrize("problem", [problems.cosine, problems.tanh], ids=names)
def test_weights_of_each_token_solve_what_does_not_couple_tokens(problem: Problem) -> None:
    solution = Anderson(100, TOLERANCE, memory=5, mixing="token")(problem.g, problem.start)
    assert bool(solution.converged.all())
    torch.testing.assert_close(solution.value, problem.answer, rtol=0, atol=1e-7)


def test_weights_of_each_token_are_those_of_solving_it_apart() -> None:
    slopes = torch.tensor([0.9, -0.7], dtype=torch.float64).view(1, 2, 1)
    offset = normal(1, 2, WIDTH, seed=7)
    solver = Anderson(4, 0.0, mixing="token")
    together = solver(lambda x: slopes * x + offset, torch.zeros_like(offset))
    for token in range(2):
        slope, part = slopes[:, token], offset[:, token : token + 1]
        apart = solver(lambda x, s=slope, b=part: s * x + b, torch.zeros_like(part))
        assert apart.evaluations == 4
        torch.testing.assert_close(together.value[:, token : token + 1], apart.value)


@pytest.mark.parametrize("mixing", ["example", "token"])
def test_rows_of_zeros_stay_zero(mixing: str) -> None:
    """Padding has no residual; its Gram matrix is zero and must not spoil the others."""
    real = torch.ones(BATCH, TOKENS, 1, dtype=torch.bool)
    real[0, 1:] = False
    real[1] = False
    start = torch.where(real, problems.tanh.start, 0.0)
    solution = Anderson(100, TOLERANCE, mixing=mixing)(
        lambda x: torch.where(real, problems.tanh.g(x), 0.0), start
    )
    wanted = torch.where(real, problems.tanh.answer, 0.0)
    torch.testing.assert_close(solution.value, wanted, rtol=0, atol=1e-7)
    assert bool(solution.converged.all())


@pytest.mark.parametrize("solver", EVALUATORS)
def test_the_first_point_within_the_tolerance_is_returned_and_never_moved(solver: str) -> None:
    g = Recorded(problems.tanh.g)
    solution = SOLVERS[solver](g, problems.tanh.start)
    for row, seen in enumerate((g.residuals() <= TOLERANCE).T):
        first = int(seen.nonzero()[0])
        assert torch.equal(solution.value[row], g.calls[first][0][row])


@pytest.mark.parametrize(
    "solver", [FixedPoint(15, 0.0), Anderson(6, 0.0, memory=2), Broyden(6, 0.0, memory=1)]
)
def test_the_best_point_is_returned_when_the_steps_run_out(solver: Solver) -> None:
    g = Recorded(problems.expansion.g)
    solution = solver(g, problems.expansion.start)
    best = g.residuals().argmin(dim=0)
    for row in range(BATCH):
        assert torch.equal(solution.value[row], g.calls[int(best[row])][0][row])
    assert not bool(solution.converged.any())
    assert solution.evaluations == solver.max_steps


def test_a_map_that_answers_with_nan_leaves_the_last_good_point() -> None:
    calls = 0

    def g(x: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return problems.contraction.g(x) if calls < 3 else torch.full_like(x, torch.nan)

    for solver in (FixedPoint(10), Anderson(10), Broyden(10)):
        calls = 0
        solution = solver(g, problems.contraction.start)
        assert bool(solution.value.isfinite().all())
        assert bool(solution.residual.isfinite().all())


@pytest.mark.parametrize("solver", EVALUATORS)
def test_a_start_that_solves_costs_one_evaluation(solver: str) -> None:
    g = Recorded(problems.tanh.g)
    solution = SOLVERS[solver](g, problems.tanh.answer)
    assert solution.evaluations == len(g.calls) == 1
    assert torch.equal(solution.value, problems.tanh.answer)


def easy_and_hard(easy: float, hard: float) -> Recorded:
    slopes = torch.tensor([easy, hard], dtype=torch.float64).view(2, 1, 1)
    offset = normal(1, TOKENS, WIDTH, seed=8)
    return Recorded(lambda x: torch.sin(slopes[2 - len(x) :] * x) + offset)


@pytest.mark.parametrize("solver", EVALUATORS)
def test_an_example_does_not_feel_its_company(solver: str) -> None:
    """The easy example finishes first and waits; the hard one goes on as if it were alone."""
    both, hard = easy_and_hard(0.05, 0.9), easy_and_hard(0.05, 0.9)
    start = normal(2, TOKENS, WIDTH, seed=9)
    together, alone = SOLVERS[solver](both, start), SOLVERS[solver](hard, start[1:])
    finished = (both.residuals() <= TOLERANCE).double().argmax(dim=0)
    assert finished[0] < finished[1], "the first example was meant to be easier"
    assert together.evaluations == alone.evaluations
    torch.testing.assert_close(together.value[1:], alone.value, rtol=1e-12, atol=1e-12)


class Narrowing:
    """The map of easy and hard examples that can be cut, and notes how many it was given."""

    def __init__(self, slopes: Tensor, offset: Tensor, sizes: list[int], able: bool = True):
        self.slopes, self.offset, self.sizes, self.able = slopes, offset, sizes, able

    def __call__(self, x: Tensor) -> Tensor:
        self.sizes.append(len(x))
        return torch.sin(self.slopes * x) + self.offset

    def narrow(self, rows: Tensor) -> "Narrowing | None":
        if not self.able:
            return None
        return Narrowing(self.slopes[rows], self.offset[rows], self.sizes)


@pytest.mark.parametrize("solver", EVALUATORS)
def test_finished_examples_stop_costing_where_the_map_can_be_cut(solver: str) -> None:
    slopes = torch.tensor([0.01, 0.95, 0.02, 0.5, 0.01, 0.01], dtype=torch.float64).view(6, 1, 1)
    offset, start = normal(6, TOKENS, WIDTH, seed=10), normal(6, TOKENS, WIDTH, seed=11)
    whole, cut = [], []
    plain = SOLVERS[solver](Narrowing(slopes, offset, whole, able=False), start)
    narrowed = SOLVERS[solver](Narrowing(slopes, offset, cut), start)
    assert set(whole) == {6}
    assert cut[0] == 6
    assert cut == sorted(cut, reverse=True)
    assert cut[-1] == 1
    assert narrowed.evaluations == plain.evaluations == len(cut) == len(whole)
    torch.testing.assert_close(narrowed.value, plain.value, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(narrowed.residual, plain.residual, rtol=1e-3, atol=1e-12)
    assert torch.equal(narrowed.start_residual, plain.start_residual)
    assert bool(narrowed.converged.all())


@pytest.mark.parametrize("solver", [Anderson(20, 1e-12), Broyden(20, 1e-12)])
def test_a_known_pair_saves_an_evaluation(solver: Solver) -> None:
    """On a line, two points suffice for the answer; the known pair is one of them."""
    offset = normal(BATCH, 1, 1, seed=12)
    g = Recorded(lambda x: 0.9 * x + offset)
    start, elsewhere = torch.zeros_like(offset), torch.ones_like(offset)
    without = solver(g, start).evaluations
    known = (elsewhere, 0.9 * elsewhere + offset)
    solution = solver(g, start, known)
    assert solution.evaluations == without - 1
    torch.testing.assert_close(solution.value, offset / 0.1)


SHORT = [FixedPoint(60), Anderson(60), Broyden(60), Descent(60, 0.1, "squared_sum")]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("solver", SHORT)
def test_precision_of_the_start_is_kept_and_residuals_are_at_least_single(
    solver: Solver, dtype: torch.dtype
) -> None:
    solution = solver(problems.contraction.g, problems.contraction.start.to(dtype))
    assert solution.value.dtype == dtype
    assert solution.residual.dtype == torch.promote_types(dtype, torch.float32)
    assert float(solution.residual.max()) < 0.1 * float(solution.start_residual.max())


@pytest.mark.parametrize("solver", SHORT)
def test_half_precision_maps_are_solved_in_single(solver: Solver) -> None:
    """As a layer in bfloat16: the solver works in single precision on a coarse map."""
    g, start = problems.contraction.g, problems.contraction.start.float()
    solution = solver(lambda x: g(x.bfloat16()).float(), start)
    assert solution.value.dtype == solution.residual.dtype == torch.float32
    assert float(solution.residual.max()) < 0.1 * float(solution.start_residual.max())


def test_the_steps_may_be_few() -> None:
    g = Recorded(problems.contraction.g)
    for solver in (FixedPoint(1), Anderson(1), Broyden(1)):
        g.calls.clear()
        solution = solver(g, problems.contraction.start)
        assert torch.equal(solution.value, problems.contraction.start)
        assert_honest(g, solution, solver.tolerance)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FixedPoint(max_steps=0), r"FixedPoint\.max_steps is 0; expected 1 or more"),
        (lambda: Broyden(max_steps=0), r"Broyden\.max_steps is 0"),
        (lambda: Broyden(memory=0), r"Broyden\.memory is 0"),
        (lambda: Descent(steps=-1), r"Descent\.steps is -1; expected 0 or more"),
        (lambda: Descent(norm="l2"), r"Descent\.norm is 'l2'; expected one of squared_sum, l2_"),
    ],
)
def test_settings_that_make_no_solve(make: Callable[[], Solver], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()
