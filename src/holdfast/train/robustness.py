"""How accurate a model stays inside the hull of its words: the measure of robust early stopping.

A white-box attack in the space of mixtures whose end is rounded to real words (RIFT's
`evaluation_by_ascc`): quick enough for every evaluation, and weaker than a search over texts. It
runs on validation examples, never on those a result is reported on.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, Subset

from holdfast.adversary import Batch, ConvexHull
from holdfast.adversary.worst import hull_predictions
from holdfast.data.splitting import random_order
from holdfast.objectives import Objective
from holdfast.train.averages import PartAverages

LOOKED_AT = 500
"""Examples on which the parts of a loss are measured."""


@dataclass(frozen=True)
class HullCheck:
    """Settings of the check."""

    hull: ConvexHull = field(default_factory=ConvexHull)
    """The region, and how it is climbed."""
    steps: int = 10
    """Steps of the ascent."""
    examples: int | None = 500
    """How many of the evaluated examples are attacked, drawn at random, the same ones each time;
    none: all of them."""
    readings: int = 1
    """How often each text is read: first all of them once, then again. The first is attacked."""

    def accuracy(
        self, model: nn.Module, batches: Iterable[Batch], accelerator: Accelerator
    ) -> float:
        """Return the share of examples whose label held, over all processes.

        `batches` are those of this process, from a loader that `accelerator` has prepared.
        """
        held: list[Tensor] = []
        with repeatable(accelerator.device):
            for batch in batches:
                logits = hull_predictions(model, batch, self.hull, self.steps)
                right = (logits.argmax(dim=1) == batch["labels"]).float()
                # of examples that fill up the last batches of the processes, each counts once
                held.append(accelerator.gather_for_metrics(right))
        all_held = torch.cat(held)
        return float(all_held.sum().item() / len(all_held))


def mean_parts(
    objective: Objective,
    model: nn.Module,
    extras: nn.Module,
    batches: Iterable[Batch],
    accelerator: Accelerator,
) -> dict[str, float]:
    """Return the means of the parts of an objective's loss on examples it is not trained on.

    Nothing is differentiated but the adversary's own steps. For RIFT this gives the lower bound
    of the information that is kept.
    """
    averages = PartAverages()
    with repeatable(accelerator.device), torch.no_grad():
        for batch in batches:
            for loss in objective.losses(model, extras, batch):
                averages.add(loss.parts)
    return averages.drain(lambda means: accelerator.reduce(means, reduction="mean"))


def drawn_batches(
    loader: DataLoader[Any],
    batch_size: int,
    accelerator: Accelerator,
    wanted: int | None,
    readings: int = 1,
) -> Iterator[Any]:
    """Yield batches of `wanted` examples of a loader, drawn at random, the same ones each time.

    Of a sorted file the first examples may be of one class only, and so may those of a batch. A
    stream cannot be drawn from: its first examples are taken.
    """
    dataset: Any = loader.dataset
    if isinstance(dataset, IterableDataset):
        several = batch_size * accelerator.num_processes
        yield from islice(loader, None if wanted is None else -(-wanted // several))
        return
    rows = random_order(len(dataset) // readings, "examples of a check")[:wanted]
    drawn = DataLoader(Subset(dataset, rows), batch_size, collate_fn=loader.collate_fn)
    yield from accelerator.prepare(drawn)


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Draw the same random numbers each time, and leave the generators as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(0)
        yield
