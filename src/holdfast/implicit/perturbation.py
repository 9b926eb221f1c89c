"""Propositions 1 and 2 on a real model: how a perturbation grows from layer to layer.

The hidden states that enter the first layer are the initial value x of Eq. 4. They are moved by a
random direction of a given relative size, the same for every scheme, and the distance between the
perturbed and the clean hidden states is followed through the layers. Unlike the model equation of
the propositions, a layer is not linear and its Jacobian has eigenvalues on both sides of zero, so
the implicit scheme has no guarantee here: this measures what it does.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.errors import InputError
from holdfast.implicit.capture import Batch, LayerRecord, capture_layers, plain_twin
from holdfast.implicit.connect import Connected, connect
from holdfast.implicit.spec import Connection, Explicit, ImplicitEuler, Scheme, Theta
from holdfast.solve import Anderson

Connections = Mapping[str, Connection | None]


def _solved(scheme: Scheme) -> Connection:
    # Solved better than training needs: the scheme is compared here, not the solver.
    solver = Anderson(max_steps=30, tolerance=1e-3, memory=6)
    return Connection(scheme=scheme, solver=solver, on_failure="keep")


SCHEMES: Connections = MappingProxyType(
    {
        "none": None,
        "Explicit": _solved(Explicit()),
        "ImplicitEuler": _solved(ImplicitEuler()),
        "Theta 0.5": _solved(Theta(0.5)),
        "Theta 1": _solved(Theta(1.0)),
    }
)
"""Each scheme on all layers, solved accurately; "none" is the model as it is."""


@dataclass(frozen=True)
class PerturbationGrowth:
    """Relative difference of the hidden states; entry 0 is the embeddings, entry n layer n."""

    name: str
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    residual: float | None
    """Mean relative residual the solves ended with; a difference below it says nothing."""


def perturbation_growth(
    model: PreTrainedModel,
    batch: Batch,
    connections: Connections = SCHEMES,
    *,
    size: float = 0.05,
    quantiles: tuple[float, float] = (0.1, 0.9),
    seed: int = 0,
) -> tuple[PerturbationGrowth, ...]:
    """Perturb the embeddings of `batch` and follow the difference with each connection.

    `size` is the length of the perturbation relative to that of the embeddings, example by
    example. The model is not changed, and its own connection plays no part.
    """
    if not size > 0:
        raise InputError(f"The size of the perturbation is {size}; it must be positive.")
    bare = plain_twin(model)
    shift = _random_shift(capture_layers(bare, batch)[0], size, seed)
    return tuple(
        _growth(bare, batch, name, connection, shift, quantiles)
        for name, connection in connections.items()
    )


def _random_shift(first: LayerRecord, size: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(first.before.shape, generator=generator).to(first.before)
    direction = first.masked(noise)
    lengths = size * _length(first.masked(first.before)) / _length(direction)
    return direction * lengths[:, None, None]


def _growth(
    bare: PreTrainedModel,
    batch: Batch,
    name: str,
    connection: Connection | None,
    shift: Tensor,
    quantiles: tuple[float, float],
) -> PerturbationGrowth:
    handle = None if connection is None else connect(bare, connection)
    try:
        clean = capture_layers(bare, batch)
        moved = capture_layers(bare, batch, shift=shift)
        residual = None if handle is None else _mean_residual(handle)
    finally:
        if handle is not None:
            handle.remove()
    differences = _differences(clean, moved)
    low, high = (differences.quantile(q, dim=0) for q in quantiles)
    return PerturbationGrowth(
        name=name,
        mean=tuple(differences.mean(0).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        residual=residual,
    )


def _differences(clean: tuple[LayerRecord, ...], moved: tuple[LayerRecord, ...]) -> Tensor:
    """Return (examples, layers + 1): relative distances on the real tokens."""
    pairs = [(clean[0], clean[0].before, moved[0].before)]
    pairs += [(c, c.after, m.after) for c, m in zip(clean, moved, strict=True)]
    distances = [
        _length(record.masked(other - state)) / _length(record.masked(state))
        for record, state, other in pairs
    ]
    return torch.stack(distances, dim=1)


def _length(states: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(states.float().flatten(1), dim=1)
    return length


def _mean_residual(handle: Connected) -> float | None:
    residuals = [reading.residual_after for reading in handle.readings()]
    solved = [residual for residual in residuals if not math.isnan(residual)]
    return sum(solved) / len(solved) if solved else None
