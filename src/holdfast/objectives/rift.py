"""RIFT: robust informative fine-tuning (Dong et al., NeurIPS 2021).

    L = CE(x, y) + beta * KL(q(.|x) || q(.|x^)) + alpha * InfoNCE(S^; T | Y)
    S^ = F_s(x^), T = F_t(x),    x^ = argmax over the hull of KL(q(.|x) || q(.|x^))

Equation 11: adversarial training whose features on worst mixtures must still tell which text the
frozen pre-trained model read, among texts of the same class.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from holdfast.adversary import Batch, ConvexHull
from holdfast.objectives.adversarial import check_ascent, face_hull
from holdfast.objectives.features import Features, last_states
from holdfast.objectives.informative import Informative
from holdfast.objectives.objective import Loss


@dataclass(frozen=True)
class Rift:
    """Adversarial training in the hull that keeps what the pre-trained model knew."""

    alpha: float = 0.1
    """Weight of InfoNCE; the paper has 0.1 on IMDB and 0.7 on SNLI. 0 is `Adversarial`."""
    beta: float = 10.0
    """Weight of the divergence; the paper has 10 on IMDB and 5 on SNLI."""
    steps: int = 10
    """Steps of the inner ascent."""
    hull: ConvexHull = ConvexHull()
    """The region of mixtures, and how it is climbed."""
    tau: float = 0.2
    """Temperature of the scores."""
    features: Features = "pooler"
    """The vector that stands for a text."""
    conditional: bool = True
    """Compare texts of one class only: I(S; T | Y). Else all of the batch: I(S; T)."""
    transpose: bool = False
    """Tell teachers from students, as the released code does, not students from teachers."""
    head_width: int = 512
    """Hidden units of a projection."""
    projection: int = 256
    """Width of what is compared."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = False
    substitutes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ascent(self.beta, self.steps)
        _ = self._informative  # checks the rest

    @property
    def class_conditional(self) -> bool:
        """Whether batches should hold several texts of each class."""
        return self._informative.class_conditional

    @property
    def _informative(self) -> Informative:
        return Informative(
            alpha=self.alpha,
            tau=self.tau,
            features=self.features,
            conditional=self.conditional,
            transpose=self.transpose,
            head_width=self.head_width,
            projection=self.projection,
        )

    def extras(self, model: nn.Module) -> nn.Module:
        """Return the frozen pre-trained model and the heads; nothing where alpha is 0."""
        return self._informative.extras(model)

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        faced = face_hull(model, batch, self.hull, self.steps, states=self.alpha > 0)
        loss = faced.loss(batch, self.beta)
        if self.alpha > 0:
            # the forward of the divergence serves here too; the released code runs another
            states = last_states(faced.output).chunk(2)[1]
            loss = self._informative.add_to(loss, model, extras, states, batch)
        yield loss
