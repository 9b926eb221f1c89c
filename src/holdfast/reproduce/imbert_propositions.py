"""IM-BERT's Propositions 1 and 2: what a perturbed initial value does under both Euler steps.

First on the model equation h' = lambda h, where one step multiplies the error by 1 + gamma lambda
(explicit) or by 1 / (1 - gamma lambda) (implicit): the size of an error of 1 after 12 steps, at
points on both sides of the imaginary axis. Then on the given model, where no theorem holds: a
random move of the embeddings by 5 %, the same for every scheme, is followed through the layers,
and its growth is the relative difference of the last hidden states over that of the embeddings.
Nothing is trained.
"""

from holdfast.implicit.perturbation import SCHEMES
from holdfast.implicit.stability import METHODS, perturbation_errors
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.probe_growth import GROWTH, TASK
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source

POINTS = (-0.5, -1.5, -2.5, -4.0, -0.2 + 2j, 0.5, 2.5)
"""gamma lambda: inside the explicit disk, at its edge, outside, off the axis, and growing."""
STEPS = 12
ROW = "pre-trained"
LINEAR = f"Error after {STEPS} steps on the model equation (1 at the start)"
ON_MODEL = "Growth of a perturbation through the layers of the model"


def cells(setting: Setting) -> list[Cell]:
    """Return the one model, which is measured as it came."""
    measure = Measure("sst2", examples=setting.budget.attacked or 64, probes=("growth",))
    return [Cell(ROW, ("growth",), None, measure)]


def places(setting: Setting) -> list[Place]:
    """Return the errors on the model equation, then the growth with each scheme."""
    linear = [
        Place(
            f"gamma lambda = {point:.3g}",
            name,
            unit="x",
            computed=float(abs(perturbation_errors(point, theta, STEPS)[-1])),
            table=LINEAR,
        )
        for point in POINTS
        for name, theta in METHODS.items()
    ]
    on_model = [
        Place(scheme, "growth", (_growth(scheme),), unit="x", table=ON_MODEL) for scheme in SCHEMES
    ]
    return linear + on_model


def _growth(scheme: str) -> Source:
    return Source(ROW, TASK, GROWTH, group=scheme)


REPRODUCTION = Reproduction(
    name="imbert-propositions",
    protocol=__doc__,
    choices=(
        Choice(
            "Proposition 2's proof needs lambda < 0, which the model equation assumes.",
            "Points with a positive real part are shown too: at 0.5 the error doubles each step.",
        ),
        Choice(
            "What the propositions say of a network, whose layers are not linear.",
            "Measured, with every equation solved to a thousandth.",
        ),
    ),
    cells=cells,
    places=places,
)
