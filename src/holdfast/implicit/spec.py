"""What a connection is: which layers, which equation, how it is solved and differentiated.

A layer maps h to phi(h). BERT connects layers monotonically, h' = phi(h); each scheme below puts
another equation between h and h'. None of them has parameters.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

from holdfast.errors import InputError
from holdfast.solve import Anderson, Descent, Gradient, Phantom, Solver, Unrolled
from holdfast.solve.settings import require_one_of

Layers = str | tuple[int, ...]
Dropout = Literal["frozen", "resample", "off"]
OnFailure = Literal["keep", "warn", "raise"]


@dataclass(frozen=True)
class Explicit:
    """h' = h + step * phi(h): EX-BERT, the explicit Euler step; nothing to solve."""

    step: float = 1.0

    @property
    def weight(self) -> float:
        """The share of phi(x) in the equation: none, x stands alone."""
        return 0.0

    def equation(self, h: Tensor, image: Tensor) -> tuple[Tensor, float]:
        """Return (offset, weight) of x = offset + weight * phi(x)."""
        return h + self.step * image, self.weight


@dataclass(frozen=True)
class ImplicitEuler:
    """h' = h + step * phi(h'): IM-BERT's Equation 6, as the paper prints it.

    A layer that contains the identity (GPT-2, Llama, Qwen, T5, ModernBERT) leaves the equation
    without a usable solution at step 1; use `Theta` there, or a smaller step.

    `step` is the step of the equation. Algorithm 1 calls its descent rate gamma as well; that
    one is `Descent.step_size`.
    """

    step: float = 1.0

    @property
    def weight(self) -> float:
        """The share of phi(x) in the equation."""
        return self.step

    def equation(self, h: Tensor, image: Tensor) -> tuple[Tensor, float]:
        """Return (offset, weight) of x = offset + weight * phi(x)."""
        return h, self.weight


@dataclass(frozen=True)
class Theta:
    """h' = h + (1 - theta) f(h) + theta f(h') with the layer's own increment f(x) = phi(x) - x.

    A plain layer is the explicit step of this equation, so theta = 0 is the untouched model and
    a pre-trained one keeps its meaning; theta = 1/2 is the trapezoidal rule, theta = 1 implicit
    Euler.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        """Refuse values that are no theta method."""
        if not 0.0 <= self.theta <= 1.0:
            raise InputError(f"Theta is {self.theta}; expected a number between 0 and 1.")

    @property
    def weight(self) -> float:
        """The share of phi(x) in the equation; theta = 0 leaves nothing to solve."""
        return self.theta / (1 + self.theta)

    def equation(self, h: Tensor, image: Tensor) -> tuple[Tensor, float]:
        """Return (offset, weight) of x = offset + weight * phi(x).

        The unknown also stands in f(x) = phi(x) - x. Brought to the left it divides the rest by
        1 + theta, which halves the work at theta = 1: g then contracts wherever phi expands
        distances by less than (1 + theta) / theta.
        """
        theta = self.theta
        if theta == 0.0:  # the layer's own output, bit for bit
            return image, self.weight
        return (theta * h + (1 - theta) * image) / (1 + theta), self.weight


Scheme = Explicit | ImplicitEuler | Theta


@dataclass(frozen=True)
class Connection:
    """How the chosen layers of a model are connected."""

    layers: Layers = "all"
    """"all", "4-6", "1-3,10-12" or a tuple of numbers, counted from 1 as the paper does."""
    scheme: Scheme = ImplicitEuler()
    solver: Solver = Anderson()
    gradient: Gradient = Phantom()
    dropout: Dropout = "frozen"
    """Inside a solve: the masks of the layer's own call again, new ones, or none. An equation
    whose masks change at every evaluation has no solution."""
    on_failure: OnFailure = "warn"
    """What to do when a solve ends above its tolerance; the best point is used in any case."""

    def __post_init__(self) -> None:
        """Refuse what has no meaning; whether the layers exist is the model's to say."""
        require_one_of(get_args(Dropout), self, "dropout")
        require_one_of(get_args(OnFailure), self, "on_failure")

    @property
    def needs_second_order(self) -> bool:
        """Whether training differentiates through a derivative of the layers."""
        return isinstance(self.solver, Descent) and isinstance(self.gradient, Unrolled)


def parse_layers(layers: Layers, depth: int) -> tuple[int, ...]:
    """Return the layer numbers that `layers` names in a model of `depth` layers, in order."""
    numbers = _numbers(layers, depth) if isinstance(layers, str) else layers
    if not isinstance(numbers, (tuple, list)):
        raise InputError(
            f"The layers are {layers!r}; write for example '4', '4-6', (4, 6) or 'all'."
        )
    if not numbers:
        raise InputError("No layers were named; write for example 4-6, or all.")
    if wrong := [n for n in numbers if not 1 <= n <= depth]:
        raise InputError(
            f"Layer {wrong[0]} does not exist: the model has layers 1 to {depth}. "
            f"Choose layers within that range, or all."
        )
    return tuple(sorted(set(numbers)))


def _numbers(layers: str, depth: int) -> tuple[int, ...]:
    if layers.strip() == "all":
        return tuple(range(1, depth + 1))
    return tuple(n for part in layers.split(",") for n in _range(part.strip(), layers, depth))


def _range(part: str, whole: str, depth: int) -> range:
    ends = part.split("-")
    if len(ends) > 2 or not all(end.strip().isdecimal() for end in ends):
        raise InputError(
            f"The layers {whole!r} cannot be read: expected all, a number, a range such as 4-6, "
            f"or several of these separated by commas."
        )
    first, last = int(ends[0]), int(ends[-1])
    if first > last:
        raise InputError(f"The layer range {part!r} runs backwards; write {last}-{first}.")
    # the first layer that does not exist is enough to be refused; the rest may be endless
    return range(first, min(last, max(first, depth + 1)) + 1)
