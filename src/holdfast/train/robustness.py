"""How accurate a model stays inside the hull of its words: the measure of robust early stopping.

A white-box attack in the space of mixtures whose end is rounded to real words (RIFT's
`evaluation_by_ascc`): quick enough for every evaluation, and weaker than a search over texts. It
runs on validation examples, never on those a result is reported on.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import Tensor, nn

from holdfast.adversary import Batch, ConvexHull
from holdfast.adversary.worst import hull_predictions
from holdfast.objectives import Objective
from holdfast.train.averages import PartAverages


@dataclass(frozen=True)
class HullCheck:
    """Settings of the check."""

    hull: ConvexHull = field(default_factory=ConvexHull)
    """The region, and how it is climbed."""
    steps: int = 10
    """Steps of the ascent."""
    examples: int = 500
    """How many of the evaluated examples are attacked: the first ones."""

    def accuracy(
        self, model: nn.Module, batches: Iterable[Batch], accelerator: Accelerator
    ) -> float:
        """Return the share of attacked examples whose label held, over all processes.

        `batches` are those of this process, which attacks its part of the examples.
        """
        wanted = -(-self.examples // accelerator.num_processes)
        held: list[Tensor] = []
        with repeatable(accelerator.device):
            for batch in batches:
                logits = hull_predictions(model, batch, self.hull, self.steps)
                held.append((logits.argmax(dim=1) == batch["labels"]).float())
                if sum(map(len, held)) >= wanted:
                    break
        all_held = torch.cat(held)[:wanted]
        counts = torch.stack([all_held.sum(), torch.ones_like(all_held).sum()])
        right, seen = accelerator.reduce(counts, reduction="sum").tolist()
        return float(right / seen)


def mean_parts(
    objective: Objective,
    model: nn.Module,
    extras: nn.Module,
    batches: Iterable[Batch],
    accelerator: Accelerator,
    examples: int = 500,
) -> dict[str, float]:
    """Return the means of the parts of an objective's loss on examples it is not trained on.

    Nothing is differentiated but the adversary's own steps. For RIFT this gives the lower bound
    of the information that is kept.
    """
    averages, seen = PartAverages(), 0
    with repeatable(accelerator.device), torch.no_grad():
        for batch in batches:
            for loss in objective.losses(model, extras, batch):
                averages.add(loss.parts)
            seen += len(batch["labels"]) * accelerator.num_processes
            if seen >= examples:
                break
    return averages.drain(lambda means: accelerator.reduce(means, reduction="mean"))


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Draw the same random numbers each time, and leave the generators as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(0)
        yield
