"""Stop a run whose loss or weights are no longer numbers, naming the step and the examples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class LossWatch:
    """Remembers losses on their device and looks at them together.

    Looking at each loss at once would make the accelerator wait for the host at every step.
    """

    names: Sequence[str] | None = None
    """What the rows of the training data are called; none: their row numbers are told."""
    pending: list[tuple[int, Tensor, Tensor | None]] = field(default_factory=list)

    def add(self, step: int, loss: Tensor, rows: Tensor | None) -> None:
        """Remember the loss of the batch made of `rows`."""
        self.pending.append((step, loss.detach(), rows))

    @property
    def losses(self) -> list[Tensor]:
        """The remembered losses."""
        return [loss for _, loss, _ in self.pending]

    def problem(self) -> str | None:
        """Return a sentence about the first remembered loss that is no number, and forget all."""
        pending, self.pending = self.pending, []
        if not pending:
            return None
        values = torch.stack([loss for _, loss, _ in pending]).tolist()
        for (step, _, rows), value in zip(pending, values, strict=True):
            if not math.isfinite(value):
                return f"The loss became {value} at step {step}{self._on(rows)}."
        return None

    def _on(self, rows: Tensor | None) -> str:
        if rows is None:
            return ""
        numbers = rows.tolist()
        ids = [self.names[row] for row in numbers] if self.names is not None else numbers
        return f", on the examples {', '.join(map(str, ids))}"


def broken_weights(model: nn.Module, step: int) -> str | None:
    """Return a sentence if weights are no numbers.

    A gradient that is no number shows in the weights before it shows in a loss.
    """
    broken = [name for name, p in model.named_parameters() if not torch.isfinite(p).all()]
    if not broken:
        return None
    return (
        f"The gradients became NaN or infinite at step {step} and broke {len(broken)} weights, "
        f"the first of them {broken[0]}."
    )
