"""Solve x = g(x) on batches, and differentiate the solution; needs torch alone."""

from holdfast.solve.anderson import Anderson
from holdfast.solve.broyden import Broyden
from holdfast.solve.descent import Descent
from holdfast.solve.fixed_point import FixedPoint
from holdfast.solve.gradients import (
    Detached,
    Gradient,
    ImplicitFunction,
    Phantom,
    Solver,
    Unrolled,
)
from holdfast.solve.iterate import Narrowable
from holdfast.solve.solution import Map, Pair, Solution, relative_residual

__all__ = [
    "Anderson",
    "Broyden",
    "Descent",
    "Detached",
    "FixedPoint",
    "Gradient",
    "ImplicitFunction",
    "Map",
    "Narrowable",
    "Pair",
    "Phantom",
    "Solution",
    "Solver",
    "Unrolled",
    "relative_residual",
]
