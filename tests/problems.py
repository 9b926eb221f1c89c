"""Equations x = g(x) whose answers are known, and maps that tell how they were called."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from holdfast.solve import relative_residual

BATCH, TOKENS, WIDTH = 3, 2, 4
SIZE = TOKENS * WIDTH


@dataclass(frozen=True)
class Problem:
    name: str
    g: Callable[[Tensor], Tensor]
    start: Tensor
    answer: Tensor


@dataclass
class Recorded:
    """A map that remembers every point it was asked for and what it answered."""

    g: Callable[[Tensor], Tensor]
    calls: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def __call__(self, point: Tensor) -> Tensor:
        image = self.g(point)
        self.calls.append((point.detach().clone(), image.detach().clone()))
        return image

    def residuals(self) -> Tensor:
        """Return (calls, batch)."""
        return torch.stack([relative_residual(*pair) for pair in self.calls])


def normal(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def affine(matrices: Tensor, offset: Tensor) -> Callable[[Tensor], Tensor]:
    """Return x -> A x + b, with one matrix over all tokens and features of each example."""
    return lambda x: (matrices.to(x) @ x.flatten(1).unsqueeze(2)).view_as(x) + offset.to(x)


def with_eigenvalues(values: list[float], *, seed: int, batch: int = BATCH) -> Tensor:
    """Return symmetric matrices with these eigenvalues in random directions."""
    turns = torch.linalg.qr(normal(batch, len(values), len(values), seed=seed))[0]
    return turns @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ turns.mT


def affine_problem(name: str, eigenvalues: list[float], *, seed: int = 0) -> Problem:
    matrices = with_eigenvalues(eigenvalues, seed=seed)
    offset, start = normal(BATCH, TOKENS, WIDTH, seed=1), normal(BATCH, TOKENS, WIDTH, seed=2)
    system = torch.eye(SIZE, dtype=torch.float64) - matrices
    answer = torch.linalg.solve(system, offset.flatten(1).unsqueeze(2)).view_as(offset)
    return Problem(name, affine(matrices, offset), start, answer)


def _tanh_problem() -> Problem:
    weights = 0.9 * torch.linalg.qr(normal(WIDTH, WIDTH, seed=3))[0]
    offset = normal(BATCH, TOKENS, WIDTH, seed=4)

    def g(x: Tensor) -> Tensor:
        return torch.tanh(x @ weights.to(x) + offset.to(x))

    answer = start = normal(BATCH, TOKENS, WIDTH, seed=5)
    for _ in range(1000):  # 0.9 ** 1000 is far below the last digit
        answer = g(answer)
    return Problem("tanh", g, start, answer)


contraction = affine_problem("contraction", [0.6, -0.6, 0.4, -0.3, 0.2, 0.1, -0.1, 0.0])
expansion = affine_problem("expansion", [-2.0, -2.0, -2.0, -1.5, -1.5, 0.5, 0.5, 0.5])
nearly_singular = affine_problem("nearly singular", [0.999, 0.999, 0.9, 0.9, 0.5, 0.5, 0.0, 0.0])
cosine = Problem(
    "cosine",
    torch.cos,
    normal(BATCH, TOKENS, WIDTH, seed=6),
    torch.full((BATCH, TOKENS, WIDTH), 0.7390851332151607, dtype=torch.float64),
)
tanh = _tanh_problem()
