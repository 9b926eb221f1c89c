"""Three pictures of stability: the regions, the error over n steps, the growth in a real model."""

# ruff: noqa: D102 (the members of a Protocol are described by the classes that have them)

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.report.figures import Picture, draw, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Region(Protocol):
    """The region of absolute stability of one method, sampled on a grid."""

    @property
    def name(self) -> str: ...
    @property
    def theta(self) -> float: ...
    @property
    def real(self) -> NDArray[np.float64]: ...
    @property
    def imaginary(self) -> NDArray[np.float64]: ...
    @property
    def factor(self) -> NDArray[np.float64]: ...
    @property
    def stable(self) -> NDArray[np.bool_]: ...


class Curve(Protocol):
    """The error after 0, 1, 2, ... steps of one method at one point z."""

    @property
    def name(self) -> str: ...
    @property
    def z(self) -> complex: ...
    @property
    def errors(self) -> Sequence[float]: ...


class Growth(Protocol):
    """The relative difference of the states before layer 1 and after each layer, by scheme."""

    @property
    def name(self) -> str: ...
    @property
    def mean(self) -> Sequence[float]: ...
    @property
    def low(self) -> Sequence[float]: ...
    @property
    def high(self) -> Sequence[float]: ...


def regions_picture(regions: Sequence[Region]) -> Picture:
    """Draw where each method is absolutely stable, over the complex plane of z."""
    title = "Regions of absolute stability, |R(z)| < 1 (hatched)"
    shares = (f"{r.name} (theta = {r.theta:g}): {stable_shares(r)}" for r in regions)
    description = (
        f"One panel for each method over the complex plane of z, the step size times lambda, with "
        f"the stable region hatched and its boundary |R(z)| = 1 drawn. {'; '.join(shares)}."
    )
    panels = [partial(draw_region, region=region) for region in regions]
    return draw(title, description, (3.6 * len(regions), 3.2), panels)


def stable_shares(region: Region) -> str:
    """Return in words how much of the drawn plane is stable, on either side of the axis."""
    columns = region.real
    left, right = region.stable[:, columns < 0], region.stable[:, columns > 0]
    return (
        f"stable on {left.mean():.0%} of the drawn part with negative and on "
        f"{right.mean():.0%} of that with positive real part"
    )


def draw_region(axes: "Axes", region: Region) -> None:
    """Fill axes with the stable region and its boundary."""
    grid = (region.real, region.imaginary)
    axes.contourf(
        *grid, region.stable.astype(float), levels=[0.5, 1.5], colors=["#cfe3f1"], hatches=["///"]
    )
    axes.contour(*grid, np.minimum(region.factor, 1e6), levels=[1.0], colors=["black"])
    axes.axhline(0, color="black", linewidth=0.6)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_title(f"{region.name} (theta = {region.theta:g})")
    axes.set_xlabel("Re z = step size x Re lambda")
    axes.set_ylabel("Im z")
    axes.set_aspect("equal")


def errors_picture(groups: Sequence[Sequence[Curve]]) -> Picture:
    """Draw the error of a perturbed initial value over the steps, one panel for each point z."""
    title = "Error of a perturbed initial value after n steps"
    panels = [partial(_errors, curves=curves) for curves in groups]
    ends = (
        f"{curve.name} at z = {_number(curve.z)}: {curve.errors[0]:.3g} becomes "
        f"{curve.errors[-1]:.3g} after {len(curve.errors) - 1} steps"
        for curves in groups
        for curve in curves
    )
    description = (
        "One panel for each z with a line for each method; the size of the error is on a "
        f"logarithmic scale. {'; '.join(ends)}."
    )
    return draw(title, description, (3.6 * len(groups), 3.4), panels)


def _errors(axes: "Axes", curves: Sequence[Curve]) -> None:
    for index, curve in enumerate(curves):
        axes.plot(curve.errors, label=curve.name, **asdict(line_style(index)))
    _layers_or_steps(axes)
    axes.set_title(f"z = {_number(curves[0].z)}")
    axes.set_xlabel("step n")
    axes.set_ylabel("size of the error")


def _number(z: complex) -> str:
    return f"{z.real:g}" if z.imag == 0 else f"{z.real:g}{z.imag:+g}i"


def growth_picture(
    growths: Sequence[Growth], quantiles: tuple[float, float] = (0.1, 0.9)
) -> Picture:
    """Draw how a perturbation of the embeddings grows from layer to layer with each scheme.

    `quantiles` are those that `low` and `high` stand for.
    """
    low, high = (f"{100 * quantile:.0f}th" for quantile in quantiles)
    bars = f"bars from the {low} to the {high} percentile of the texts"
    title = "A perturbation of the embeddings on its way through the layers"
    ends = (f"{g.name}: {g.mean[0]:.3g} becomes {g.mean[-1]:.3g}" for g in growths)
    description = (
        "Mean relative difference between perturbed and clean hidden states before the first "
        "layer and after each layer, on a logarithmic scale, one line for each scheme, "
        f"with {bars}. {'; '.join(ends)}."
    )
    return draw(title, description, (6.4, 4.4), [partial(_growth, growths=growths, bars=bars)])


def _growth(axes: "Axes", growths: Sequence[Growth], bars: str) -> None:
    for index, growth in enumerate(growths):
        # Side by side, so that the bars of one scheme do not hide those of another.
        layers = np.arange(len(growth.mean)) + 0.08 * (index - (len(growths) - 1) / 2)
        below = np.subtract(growth.mean, growth.low)
        lengths = np.maximum([below, np.subtract(growth.high, growth.mean)], 0)
        style = asdict(line_style(index))
        axes.errorbar(
            layers, growth.mean, lengths, label=growth.name, capsize=2, elinewidth=0.8, **style
        )
    _layers_or_steps(axes)
    axes.set_xlabel(f"layer (0 = embeddings)\nmeans, with {bars}")
    axes.set_ylabel("relative difference of the hidden states")


def _layers_or_steps(axes: "Axes") -> None:
    """Whole numbers below, powers of ten beside, and a legend."""
    from matplotlib.ticker import MaxNLocator

    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
