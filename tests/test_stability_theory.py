"""Propositions 1 and 2: amplification factors, stability regions, growth of a perturbation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.implicit.stability import (
    METHODS,
    amplification,
    error_curves,
    is_a_stable,
    is_absolutely_stable,
    perturbation_errors,
    stability_region,
)

parts = st.floats(-50, 50, allow_nan=False)
thetas = st.floats(0, 1)


def integrate(z: complex, theta: float, start: complex, steps: int) -> complex:
    """Step h' = lambda h with gamma = 1, solving each step's equation as a linear one."""
    h = start
    for _ in range(steps):
        h = np.linalg.solve([[1 - theta * z]], [h + (1 - theta) * z * h]).item()
    return h


@pytest.mark.parametrize("theta", METHODS.values())
@pytest.mark.parametrize("z", [-0.5, -2.5, 0.4, -1 + 2j, 3 - 1j])
def test_error_is_the_difference_of_two_integrations(z: complex, theta: float) -> None:
    eta, steps = 0.3 - 0.1j, 7
    difference = integrate(z, theta, 1.7 + eta, steps) - integrate(z, theta, 1.7, steps)
    assert perturbation_errors(z, theta, steps, eta)[-1] == pytest.approx(difference, rel=1e-9)


def test_ends_of_theta_are_the_two_propositions() -> None:
    z = np.array([-0.3, -3.0, 0.5 + 1j])
    np.testing.assert_allclose(amplification(z, 0.0), 1 + z)
    np.testing.assert_allclose(amplification(z, 1.0), 1 / (1 - z))


def test_the_factor_is_infinite_at_the_pole() -> None:
    assert np.abs(amplification(1.0, 1.0)) == np.inf
    assert not is_absolutely_stable(1.0, 1.0)


@given(parts, parts, thetas)
def test_the_region_is_where_the_factor_is_below_one(x: float, y: float, theta: float) -> None:
    factor = np.abs(amplification(complex(x, y), theta))
    if abs(factor - 1) > 1e-9:
        assert bool(is_absolutely_stable(complex(x, y), theta)) == (factor < 1)


@given(parts, parts)
def test_explicit_is_stable_in_a_disk_and_implicit_outside_another(x: float, y: float) -> None:
    z = complex(x, y)
    if abs(abs(1 + z) - 1) > 1e-9:
        assert bool(is_absolutely_stable(z, 0.0)) == (abs(1 + z) < 1)
    if abs(abs(1 - z) - 1) > 1e-9:
        assert bool(is_absolutely_stable(z, 1.0)) == (abs(1 - z) > 1)


def test_proposition_2_needs_a_negative_real_part() -> None:
    assert is_absolutely_stable([-0.01, -1.0, -1e6], 1.0).all()
    assert not is_absolutely_stable([0.01, 0.5, 2.0], 1.0).any()
    assert perturbation_errors(0.5, 1.0, 10)[-1] == pytest.approx(2.0**10)


@given(thetas, st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_a_stable_methods_are_stable_on_the_whole_left_half_plane(
    theta: float, distance: float, y: float
) -> None:
    if is_a_stable(theta):
        assert is_absolutely_stable(complex(-distance, y), theta)


@given(st.floats(0, 0.499))
def test_below_one_half_some_step_size_is_unstable(theta: float) -> None:
    assert not is_a_stable(theta)
    assert not is_absolutely_stable(-2 / (1 - 2 * theta) * 1.001, theta)


def test_one_half_is_stable_exactly_on_the_left_half_plane() -> None:
    assert not is_absolutely_stable([0.0, 2.5j, 0.1 + 1j], 0.5).any()
    assert is_absolutely_stable([-1e-12, -1e-12 + 3j], 0.5).all()


def test_the_grid_has_the_area_of_the_explicit_disk() -> None:
    region = stability_region("explicit", 0.0, resolution=401)
    cell = (region.real[1] - region.real[0]) * (region.imaginary[1] - region.imaginary[0])
    assert region.stable.sum() * cell == pytest.approx(math.pi, rel=0.01)
    assert region.stable.shape == (region.imaginary.size, region.real.size)


def test_curves_of_all_methods_start_at_the_perturbation() -> None:
    curves = {curve.name: curve.errors for curve in error_curves(-2.5, steps=6, eta=0.01)}
    assert set(curves) == set(METHODS)
    assert {errors[0] for errors in curves.values()} == {0.01}
    assert curves["explicit"][-1] == pytest.approx(0.01 * 1.5**6)
    assert curves["implicit"][-1] == pytest.approx(0.01 / 3.5**6)


@pytest.mark.parametrize("theta", [-0.1, 1.5, float("nan")])
def test_a_theta_outside_the_range_is_refused(theta: float) -> None:
    with pytest.raises(InputError, match="theta is"):
        amplification(0.0, theta)


def test_senseless_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        perturbation_errors(-1.0, 0.0, -1)
    with pytest.raises(InputError, match="resolution"):
        stability_region("explicit", 0.0, resolution=1)
