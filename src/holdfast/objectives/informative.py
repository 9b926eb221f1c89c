"""Fine-tuning that keeps what the pre-trained model knew, without an adversary.

    L = CE(x, y) + alpha * InfoNCE(S; T | Y),    S = F_s(x), T = F_t(x)

RIFT's last term alone, on clean texts: a remark of the paper's section 3.5, no row of its tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, get_args

from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import Batch, inputs_of, plain
from holdfast.errors import InputError
from holdfast.objectives.features import Features, FrozenReference, last_states, pick
from holdfast.objectives.information import Comparison, Heads
from holdfast.objectives.objective import Loss
from holdfast.solve.settings import require_one_of


@dataclass(frozen=True)
class Informative:
    """Cross-entropy, and the information kept from the pre-trained model, on clean texts."""

    alpha: float = 0.1
    """Weight of InfoNCE; the paper has 0.1 on IMDB and 0.7 on SNLI."""
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
    substitutes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_one_of(get_args(Features), self, "features")
        if self.alpha < 0 or self.tau <= 0 or min(self.head_width, self.projection) < 1:
            raise InputError(
                f"alpha is {self.alpha}, tau {self.tau}, head_width {self.head_width} and "
                f"projection {self.projection}; expected alpha 0 or above, the others above 0."
            )

    @property
    def class_conditional(self) -> bool:
        """Whether batches should hold several texts of each class."""
        return self.conditional and self.alpha > 0

    def extras(self, model: nn.Module) -> nn.Module:
        """Return the frozen pre-trained model and the heads; nothing where alpha is 0."""
        if self.alpha == 0:
            return nn.Module()
        reference, config = FrozenReference(model, self.features), plain(model).config
        classes: int = config.num_labels if self.conditional else 1  # type: ignore[assignment]
        sizes = (config.hidden_size, self.head_width, self.projection)
        heads = [Heads(*sizes) for _ in range(classes)]
        return Kept(reference, Comparison(heads, self.tau, transpose=self.transpose))

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        wanted = {"output_hidden_states": True} if self.alpha > 0 else {}
        output = model(**inputs_of(batch), **wanted)
        clean = functional.cross_entropy(output.logits.float(), batch["labels"])
        loss = Loss(clean, {"clean": clean.detach()})
        if self.alpha > 0:
            loss = self.add_to(loss, model, extras, last_states(output), batch)
        yield loss

    def add_to(
        self, loss: Loss, model: nn.Module, extras: nn.Module, states: Tensor, batch: Batch
    ) -> Loss:
        """Return the loss with the information term of the student's last states."""
        if not isinstance(extras, Kept):
            raise InputError(
                f"alpha without a frozen reference: alpha is {self.alpha}, and the extras hold no "
                "pre-trained model; pass what extras(model) returned before training, or alpha 0."
            )
        students = pick(self.features, model, states, batch)
        kept = extras.comparison(students, extras.reference(batch), batch["labels"])
        parts = {**loss.parts, "information": kept.bound}
        return Loss(loss.total + self.alpha * kept.loss, parts)


class Kept(nn.Module):
    """What lives beside the model: its frozen self, and the heads that compare the two."""

    def __init__(self, reference: FrozenReference, comparison: Comparison) -> None:
        super().__init__()
        self.reference, self.comparison = reference, comparison
