"""The pictures of stability that commands write: two of the theory, one of a real model."""

from collections.abc import Sequence
from pathlib import Path

from holdfast.implicit.perturbation import PerturbationGrowth
from holdfast.implicit.stability import METHODS, error_curves, stability_region
from holdfast.report import errors_picture, growth_picture, regions_picture

POINTS = (-0.5, -2.5, 0.5)
"""Where Propositions 1 and 2 agree, where only the implicit method is stable, and where it is not:
Proposition 2 needs a negative real part, though it does not say so."""


def save_pictures(folder: Path, growths: Sequence[PerturbationGrowth]) -> list[Path]:
    """Draw the regions of stability, the error over n steps and the growth; return the files."""
    pictures = {
        "stability-regions": regions_picture(
            [stability_region(name, theta) for name, theta in METHODS.items()]
        ),
        "stability-errors": errors_picture([error_curves(z) for z in POINTS]),
        "perturbation-growth": growth_picture(growths),
    }
    return [path for name, drawn in pictures.items() for path in drawn.save(folder / name)]
