"""How steep a map g is at a point: singular values of I - J and of J, without ever forming J.

J is the Jacobian of g at x. The largest singular value of I - J bounds the step size of gradient
descent on ||x - g(x)||^2; the largest singular value of J is the contraction estimate (below 1: g
contracts near x, in the Euclidean norm); the spectral radius of J decides whether x <- g(x)
converges near x in any norm.

All come from power iteration with products J v and J^T u. One forward and one backward are kept as
a graph; u -> J^T u is linear in u, so its own derivative gives J v (the double-backward trick).
Every operation with a double backward has this, while forward-mode products would run the layer
again for each vector. Attention runs in its unfused form, since the fused ones have no double
backward. Examples do not see each other, so one product serves the whole batch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from holdfast.errors import InputError

Product = Callable[[Tensor], Tensor]

_TINY = 1e-30


@dataclass(frozen=True)
class Estimate:
    """One number for each example, and how far the iteration that found it had settled."""

    value: Tensor
    change: Tensor
    iterations: int
    converged: Tensor


@dataclass(frozen=True)
class Spectrum:
    """Steepness of a map at a point, for each example.

    `defect` is the largest singular value of I - J, `contraction` that of J, `radius` the largest
    modulus of an eigenvalue of J. Power iteration approaches singular values from below.
    """

    defect: Estimate
    contraction: Estimate
    radius: Estimate


class Linearisation:
    """The derivative of a map at a point, as products with vectors on the real tokens."""

    def __init__(self, g: Product, x: Tensor, mask: Tensor | None = None) -> None:
        self._mask = None if mask is None else _broadcast(mask, x)
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), _explain_fused_attention():
            self._point = x.detach().clone().requires_grad_()
            self._value = g(self._point)
            self._dual = torch.zeros_like(self._value, requires_grad=True)
            self._pulled = self._grad(self._value, self._point, self._dual, create_graph=True)

    def push(self, v: Tensor) -> Tensor:
        """Return J v."""
        with _explain_fused_attention():
            return self._masked(self._grad(self._pulled, self._dual, self._masked(v)))

    def pull(self, u: Tensor) -> Tensor:
        """Return J^T u."""
        return self._masked(self._grad(self._value, self._point, self._masked(u)))

    def random_direction(self, generator: torch.Generator) -> Tensor:
        """Return a direction of length 1 for each example, zero on the padding."""
        shape, dtype = self._point.shape, self._point.dtype
        noise = torch.randn(shape, generator=generator, dtype=dtype)
        return _unit(self._masked(noise.to(self._point.device)))

    def _masked(self, v: Tensor) -> Tensor:
        return v if self._mask is None else v * self._mask

    def _grad(self, of: Tensor, to: Tensor, v: Tensor, create_graph: bool = False) -> Tensor:
        (product,) = torch.autograd.grad(
            of, to, v, retain_graph=True, create_graph=create_graph, materialize_grads=True
        )
        return product


def spectrum(
    g: Product,
    x: Tensor,
    mask: Tensor | None = None,
    *,
    iterations: int = 100,
    tolerance: float = 1e-3,
    seed: int = 0,
) -> Spectrum:
    """Estimate how steep `g` is at `x`, example by example, on the tokens where `mask` is true.

    Each iteration stops when no example's estimate still changes by more than `tolerance` of
    itself, or after `iterations` rounds; what had not settled says so in `converged`.
    """
    if iterations < 1:
        raise InputError(f"Power iteration was given {iterations} rounds; it needs at least 1.")
    jacobian = Linearisation(g, x, mask)
    start = jacobian.random_direction(torch.Generator().manual_seed(seed))
    other = jacobian.random_direction(torch.Generator().manual_seed(seed + 1))
    return Spectrum(
        defect=largest_singular_value(
            lambda v: v - jacobian.push(v),
            lambda u: u - jacobian.pull(u),
            start,
            iterations=iterations,
            tolerance=tolerance,
        ),
        contraction=largest_singular_value(
            jacobian.push, jacobian.pull, start, iterations=iterations, tolerance=tolerance
        ),
        radius=spectral_radius(
            jacobian.push, start, other, iterations=iterations, tolerance=tolerance
        ),
    )


def largest_singular_value(
    push: Product, pull: Product, start: Tensor, *, iterations: int, tolerance: float
) -> Estimate:
    """Return the largest singular value of A by power iteration on A^T A: v <- A^T A v."""
    direction = _unit(start)

    def step() -> Tensor:
        nonlocal direction
        image = push(direction)
        direction = _unit(pull(image))
        return _norm(image)

    return _settle(step, iterations, tolerance)


def spectral_radius(
    push: Product, first: Tensor, second: Tensor, *, iterations: int, tolerance: float
) -> Estimate:
    """Return the largest modulus of an eigenvalue of A by power iteration on a plane.

    A plane, because the dominant eigenvalues of a real matrix may be a complex pair, on which a
    single vector turns for ever. The 2x2 matrix Q^T A Q on the plane's basis Q has that pair.
    """
    plane = _basis(first, second)

    def step() -> Tensor:
        nonlocal plane
        images = (push(plane[0]), push(plane[1]))
        rows = [torch.stack([_dot(q, image) for image in images], -1) for q in plane]
        plane = _basis(*images)
        eigenvalues: Tensor = torch.linalg.eigvals(torch.stack(rows, -2))
        return eigenvalues.abs().amax(-1)

    return _settle(step, iterations, tolerance)


def _settle(step: Callable[[], Tensor], iterations: int, tolerance: float) -> Estimate:
    value, change, done = step(), torch.tensor(torch.inf), 1
    while done < iterations and not bool((change < tolerance).all()):
        new = step()
        change = (new - value).abs() / new.abs().clamp_min(_TINY)
        value, done = new, done + 1
    change = change.expand_as(value)
    return Estimate(value, change, done, change < tolerance)


def _basis(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    one = _unit(first)
    rest = _unit(second)
    # Twice, because one pass of Gram-Schmidt loses orthogonality on nearly parallel vectors.
    for _ in range(2):
        rest = _unit(rest - _scale(_dot(one, rest), rest) * one)
    return one, rest


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a.flatten(1) * b.flatten(1)).sum(-1)


def _norm(v: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(v.flatten(1), dim=-1)
    return norm


def _unit(v: Tensor) -> Tensor:
    return v / _scale(_norm(v).clamp_min(_TINY), v)


def _scale(factor: Tensor, like: Tensor) -> Tensor:
    return factor.reshape(-1, *[1] * (like.dim() - 1))


def _broadcast(mask: Tensor, x: Tensor) -> Tensor:
    if mask.shape != x.shape[: mask.dim()]:
        raise InputError(
            f"The mask has shape {tuple(mask.shape)}, the point {tuple(x.shape)}; expected the "
            "mask to cover the point's first dimensions."
        )
    return mask.to(x.dtype).reshape(*mask.shape, *[1] * (x.dim() - mask.dim()))


@contextmanager
def _explain_fused_attention() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if "is not implemented" not in str(error):
            raise
        raise InputError(
            "This map has an operation without a second derivative, as fused attention has none; "
            'load the model with attn_implementation="eager" to inspect it.'
        ) from error
