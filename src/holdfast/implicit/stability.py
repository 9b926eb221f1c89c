"""Absolute stability of the explicit, implicit and theta methods (Propositions 1 and 2).

On the model equation h' = lambda h, with z = gamma * lambda, one step of size gamma multiplies the
state, and so the error of a perturbed initial value, by the amplification factor

    R(z) = (1 + (1 - theta) z) / (1 - theta z)

theta = 0 is the explicit Euler method, R = 1 + z (Proposition 1); theta = 1 is the implicit one,
R = 1 / (1 - z) (Proposition 2). The region of absolute stability is where |R(z)| < 1.

What Proposition 2 leaves out. Its proof ends with "the error goes to 0, regardless of the value
lambda gamma". That needs Re(z) < 0, which Eq. 7 assumes by lambda < 0. Without it the implicit
method is unstable inside the closed disk |1 - z| <= 1: for lambda = 0.5 and gamma = 1 the error
doubles with every step. Outside that disk it damps even solutions that truly grow. Stability for
every gamma and every Re(lambda) < 0 (A-stability) holds for the theta method iff theta >= 1/2.

Reading a layer phi whose Jacobian has the eigenvalue mu: `Explicit` and `ImplicitEuler` with step
gamma sit at z = gamma * mu, while `Theta`, which integrates f = phi - id, sits at z = mu - 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.errors import InputError

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

METHODS: Mapping[str, float] = MappingProxyType(
    {"explicit": 0.0, "trapezoidal": 0.5, "implicit": 1.0}
)
"""The methods of the paper and the one between them, each as its theta."""


def amplification(z: ArrayLike, theta: float) -> Complexes:
    """Return R(z), the factor by which one step multiplies an error; infinite at z = 1/theta."""
    _check_theta(theta)
    points = np.asarray(z, dtype=np.complex128)
    numerator, denominator = 1 + (1 - theta) * points, 1 - theta * points
    pole = denominator == 0
    return np.where(pole, np.inf, numerator / np.where(pole, 1, denominator))


def is_absolutely_stable(z: ArrayLike, theta: float) -> NDArray[np.bool_]:
    """Return where |R(z)| < 1.

    Multiplied out, |R(z)| < 1 reads 2 Re(z) + (1 - 2 theta) |z|^2 < 0. This form decides the points
    on the boundary without the rounding of the quotient.
    """
    _check_theta(theta)
    points = np.asarray(z, dtype=np.complex128)
    squared = points.real**2 + points.imag**2
    return np.asarray(2 * points.real + (1 - 2 * theta) * squared < 0)


def is_a_stable(theta: float) -> bool:
    """Return whether every z with Re(z) < 0 is stable: "regardless of the step size"."""
    _check_theta(theta)
    return theta >= 0.5


def perturbation_errors(z: complex, theta: float, steps: int, eta: complex = 1.0) -> Complexes:
    """Return R(z)^n * eta for n = 0..steps: the error of an initial value perturbed by eta."""
    if steps < 0:
        raise InputError(f"The number of steps is {steps}; it must not be negative.")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(amplification(z, theta) ** np.arange(steps + 1) * eta)


@dataclass(frozen=True)
class StabilityRegion:
    """|R(z)| of one method on a grid; rows are imaginary parts, columns real parts."""

    name: str
    theta: float
    real: Reals
    imaginary: Reals
    factor: Reals
    stable: NDArray[np.bool_]


def stability_region(
    name: str,
    theta: float,
    *,
    real: tuple[float, float] = (-4.0, 4.0),
    imaginary: tuple[float, float] = (-3.0, 3.0),
    resolution: int = 241,
) -> StabilityRegion:
    """Return the region of absolute stability of the theta method, sampled on a grid."""
    if resolution < 2:
        raise InputError(f"The resolution is {resolution}; a grid needs at least 2 points a side.")
    x, y = np.linspace(*real, resolution), np.linspace(*imaginary, resolution)
    z = x[None, :] + 1j * y[:, None]
    factor = np.abs(amplification(z, theta))
    return StabilityRegion(name, theta, x, y, factor, is_absolutely_stable(z, theta))


@dataclass(frozen=True)
class ErrorCurve:
    """The size of the error after 0, 1, 2, ... steps of one method at one point z."""

    name: str
    z: complex
    errors: tuple[float, ...]


def error_curves(z: complex, *, steps: int = 12, eta: float = 1.0) -> tuple[ErrorCurve, ...]:
    """Return |R(z)^n * eta| of each method in `METHODS`, all at the same point z."""
    return tuple(
        ErrorCurve(name, z, tuple(np.abs(perturbation_errors(z, theta, steps, eta)).tolist()))
        for name, theta in METHODS.items()
    )


def _check_theta(theta: float) -> None:
    if not 0.0 <= theta <= 1.0:
        raise InputError(
            f"theta is {theta}; expected 0 (explicit) to 1 (implicit), 0.5 being between them."
        )
