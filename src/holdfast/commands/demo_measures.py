"""What the demo measures besides accuracy: what solvers reach, what a perturbation becomes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel

from holdfast.implicit import Connection, ImplicitEuler, connect, connected, im_bert, load
from holdfast.implicit.perturbation import SCHEMES, PerturbationGrowth, perturbation_growth
from holdfast.implicit.quiet import quiet_transformers
from holdfast.solve import Anderson

Progress = Callable[[str], None]

SOLVERS: Mapping[str, Connection] = {
    "descent": im_bert,
    "anderson": Connection(scheme=ImplicitEuler(), solver=Anderson(), on_failure="keep"),
}
"""Two solvers for the paper's equation: its own, and one that costs about half as much."""

MEASUREMENTS = 4 + len(SOLVERS) + 1
"""Parts that are told of: the growths, the solvers, and the pictures after them."""


def compare_solvers(
    model: Path, texts: Sequence[str], progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """Return, for each solver, the residual of every layer before and after its solve."""
    plain, batch = _load(model, texts)
    readings = {}
    for name, connection in SOLVERS.items():
        progress(f"residuals by {name}")
        with connect(plain, connection) as handle, torch.no_grad():
            plain(**batch)
            readings[name] = [vars(reading) for reading in handle.readings()]
    return readings


def compare_growth(
    plain: Path, implicit: Path, texts: Sequence[str], progress: Progress
) -> tuple[PerturbationGrowth, ...]:
    """Return how a perturbation grows in both trained models, and with the paper's two schemes."""
    model, batch = _load(plain, texts)
    other, _ = _load(implicit, texts)
    handle = connected(other)
    compared: list[tuple[str, PreTrainedModel, Connection | None]] = [
        ("plain model", model, None),
        ("the same weights, Explicit", model, SCHEMES["Explicit"]),
        ("the same weights, ImplicitEuler", model, SCHEMES["ImplicitEuler"]),
        ("implicit model", other, handle.connection if handle else None),
    ]
    growths: list[PerturbationGrowth] = []
    for name, weights, connection in compared:
        progress(f"a perturbation in {name}")
        growths += perturbation_growth(weights, batch, {name: connection})
    return tuple(growths)


def _load(folder: Path, texts: Sequence[str]) -> tuple[PreTrainedModel, dict[str, Tensor]]:
    with quiet_transformers():
        model: PreTrainedModel = load(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    return model, dict(tokenizer(list(texts), return_tensors="pt", padding=True, truncation=True))
