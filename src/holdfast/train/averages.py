"""Averages of the parts of a loss between two lines of the loss curve."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import torch
from torch import Tensor


class PartAverages:
    """Keeps the parts on their device; the host waits for them only when they are drained."""

    def __init__(self) -> None:
        self._values: defaultdict[str, list[Tensor]] = defaultdict(list)

    def add(self, parts: Mapping[str, Tensor]) -> None:
        """Add one value of each part."""
        for name, value in parts.items():
            self._values[name].append(value.detach().float())

    @property
    def values(self) -> dict[str, list[Tensor]]:
        """The values of each part since the last drain."""
        return dict(self._values)

    def extend(self, parts: Mapping[str, list[Tensor]]) -> None:
        """Add several values of each part."""
        for name, values in parts.items():
            self._values[name] += values

    def drain(self, over_processes: Callable[[Tensor], Tensor]) -> dict[str, float]:
        """Return the averages since the last drain; `over_processes` averages a tensor."""
        if not self._values:
            return {}
        means = torch.stack([torch.stack(values).mean() for values in self._values.values()])
        averages = dict(zip(self._values, over_processes(means).tolist(), strict=True))
        self._values.clear()
        return averages
