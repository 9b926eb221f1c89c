"""Adversarial fine-tuning in the convex hull of substitutes (ASCC; the Adv-Base row of RIFT).

    L = CE(x, y) + beta * KL(q(.|x) || q(.|x^)),
    x^ = argmax over the hull of KL(q(.|x) || q(.|x^))

RIFT's Equations 8 and 9. The ascent starts from mixtures, not from the text, so the gradient of the
divergence does not vanish at its first step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import (
    Batch,
    ConvexHull,
    ascend,
    attacking,
    look_up,
    run_on,
    run_on_both,
    with_candidate_vectors,
)
from holdfast.errors import InputError
from holdfast.objectives.divergence import kl
from holdfast.objectives.objective import Loss


@dataclass(frozen=True)
class Adversarial:
    """Cross-entropy, and the divergence between the predictions on a text and on its worst mix."""

    beta: float = 10.0
    """Weight of the divergence; the paper has 10 on IMDB and 5 on SNLI."""
    steps: int = 10
    """Steps of the inner ascent."""
    hull: ConvexHull = ConvexHull()
    """The region of mixtures, and how it is climbed."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = False
    substitutes: ClassVar[bool] = True
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_ascent(self.beta, self.steps)

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        yield face_hull(model, batch, self.hull, self.steps).loss(batch, self.beta)


@dataclass(frozen=True)
class Faced:
    """What the model says to a batch and to its worst mixtures, from one forward."""

    clean: Tensor
    """Logits on the texts."""
    perturbed: Tensor
    """Logits on the mixtures."""
    output: Any
    """The model's output for both, texts first."""

    def loss(self, batch: Batch, beta: float) -> Loss:
        """Return CE + beta * KL and its parts."""
        clean = functional.cross_entropy(self.clean, batch["labels"])
        # Gradients flow into both sides, as in the released code. The paper does not say.
        divergence = kl(self.clean, self.perturbed).mean()
        parts = {
            "clean": clean,
            "divergence": divergence,
            "adversarial": functional.cross_entropy(self.perturbed, batch["labels"]),
        }
        total = clean + beta * divergence
        return Loss(total, {name: value.detach() for name, value in parts.items()})


def face_hull(
    model: nn.Module, batch: Batch, hull: ConvexHull, steps: int, *, states: bool = False
) -> Faced:
    """Find the mixtures on which the model diverges most, then run it on texts and mixtures."""
    batch = with_candidate_vectors(model, batch)
    vectors = look_up(model, batch["input_ids"])
    with attacking(model) as inner:
        state = _most_divergent(inner, batch, vectors, hull, steps)
    mixed = hull.embed(state, vectors, batch)
    output = run_on_both(model, batch, vectors, mixed, states=states)
    clean, perturbed = output.logits.float().chunk(2)
    return Faced(clean, perturbed, output)


def _most_divergent(
    inner: nn.Module, batch: Batch, vectors: Tensor, hull: ConvexHull, steps: int
) -> Tensor:
    with torch.no_grad():
        clean = run_on(inner, batch, vectors).logits

    def divergence(mixed: Tensor) -> Tensor:
        return kl(clean, run_on(inner, batch, mixed).logits).sum()

    return ascend(hull, divergence, vectors, batch, steps)


def check_ascent(beta: float, steps: int) -> None:
    """Refuse a weight or a number of steps without meaning."""
    if beta < 0 or steps < 1:
        raise InputError(
            f"beta is {beta} and steps {steps}; expected beta 0 or above and 1 step or more."
        )
