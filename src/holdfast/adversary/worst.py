"""The worst real text a hull leads to: climb in the mixtures, then take each word's heaviest.

RIFT's `evaluation_by_ascc`: quick enough for an evaluation during training, and weaker than a
search over texts, because the mixture that fools the model need not lie near its corner.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary.ascend import ascend, attacking
from holdfast.adversary.batch import LABELS, Batch, inputs_of
from holdfast.adversary.embedded import look_up, run_on
from holdfast.adversary.hull import ConvexHull, with_candidate_vectors


def worst_corner(model: nn.Module, batch: Batch, hull: ConvexHull, steps: int) -> Tensor:
    """Return (batch, tokens) ids: a corner of the hull near where the labels are least likely."""
    with attacking(model) as inner:
        return _corner(inner, batch, hull, steps)


def hull_predictions(model: nn.Module, batch: Batch, hull: ConvexHull, steps: int) -> Tensor:
    """Return the model's logits on the worst corner, which is a real text, dropout off."""
    with attacking(model) as inner, torch.no_grad():
        ids = _corner(inner, batch, hull, steps)
        logits: Tensor = inner(**{**inputs_of(batch), "input_ids": ids}).logits
    return logits


@torch.no_grad()
def _corner(inner: nn.Module, batch: Batch, hull: ConvexHull, steps: int) -> Tensor:
    batch = with_candidate_vectors(inner, batch)

    def loss(vectors: Tensor) -> Tensor:
        logits = run_on(inner, batch, vectors).logits
        return functional.cross_entropy(logits.float(), batch[LABELS], reduction="sum")

    state = ascend(hull, loss, look_up(inner, batch["input_ids"]), batch, steps)
    return hull.corner(state, batch)
