"""The losses of one batch, taken from an objective one at a time and counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from torch import nn

from holdfast.errors import RunFailed
from holdfast.objectives import Batch, Loss, Objective


@dataclass
class Passes:
    """Runs through what an objective yields for one batch; it must yield what it announced."""

    objective: Objective
    taken: int = field(default=0, init=False)
    """How many losses were taken so far."""
    _losses: Iterator[Loss] | None = field(default=None, init=False)

    def next(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Loss:
        """Return the next loss; the first call starts the objective on `batch`."""
        if self._losses is None:
            self._losses = self.objective.losses(model, extras, batch)
        loss = next(self._losses, None)
        if loss is None:
            raise RunFailed(self._miscounted("fewer"))
        self.taken += 1
        return loss

    def finish(self) -> None:
        """Let the objective do what follows its last loss, and refuse a surplus one."""
        if self._losses is not None and next(self._losses, None) is not None:
            raise RunFailed(self._miscounted("more"))

    def _miscounted(self, how: str) -> str:
        name, passes = type(self.objective).__name__, self.objective.passes
        return f"{name} yields {how} losses a batch than its `passes`, {passes}: correct either."
