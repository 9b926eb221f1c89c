"""RunRecord: one cell of a table, with everything needed to believe it, compare it, run it again.

A record is one JSON file. Format 2 is written here; format 1 is the run.json that
`holdfast train` writes (see `record.training`). Whoever reads records needs no torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from holdfast.errors import InputError

FORMAT = 2
WARNING = "Warning: "
"""What a note begins with that a reader must not miss."""

Json = Mapping[str, Any]


def no_better_than_majority(value: float | None, majority: float | None) -> bool:
    """Return whether always answering the most frequent class does as well; unknown: no.

    The means of the same numbers may differ in their last digit, so that much is equal.
    """
    return value is not None and majority is not None and value <= majority + 1e-9


@dataclass(frozen=True)
class Metric:
    """A number that was measured, with its interval and what knowing nothing would score."""

    name: str
    """One of `holdfast.record.METRICS`, where its definition stands."""
    value: float | None
    """Shares as numbers from 0 to 1; none: it could not be measured, or is not finite."""
    low: float | None = None
    """Lower end of the 95 % interval; none: no interval can be given."""
    high: float | None = None
    count: int | None = None
    """Of a share: so many ..."""
    total: int | None = None
    """... of so many."""
    group: str = ""
    """What part of the examples it is about, such as the level "word"; empty: all of them."""
    majority: float | None = None
    """What always answering the most frequent class would score on the same examples."""
    chance: float | None = None
    """What answering at random would score on the same examples."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):  # JSON has finite numbers only
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                object.__setattr__(self, name, None)

    @property
    def no_better_than_majority(self) -> bool:
        """Whether always answering the most frequent class would have scored as much, or more."""
        return no_better_than_majority(self.value, self.majority)


@dataclass(frozen=True)
class Series:
    """Numbers along an axis: the residual of each layer, a loss over the steps, points of a map.

    Points that are not finite are left out.
    """

    name: str
    """One of `holdfast.record.SERIES`, where its definition stands."""
    x: tuple[float, ...]
    y: tuple[float, ...]
    group: str = ""
    """Which of several lines or clouds of the same name: "train", "attack", a class."""

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise InputError(
                f"The series {self.name} has {len(self.x)} places and {len(self.y)} numbers; "
                "expected one number for each place."
            )
        points = zip(self.x, self.y, strict=True)
        kept = [point for point in points if all(map(math.isfinite, point))]
        object.__setattr__(self, "x", tuple(x for x, _ in kept))
        object.__setattr__(self, "y", tuple(y for _, y in kept))


@dataclass(frozen=True)
class RunRecord:
    """What was run, on what, with what, and what came out."""

    kind: Literal["training", "evaluation"]
    model: str
    """The name of the row in a table; checkpoints that differ in the seed alone share it."""
    task: str
    """Name of the task; of AdvGLUE `advglue/sst2` and so on."""
    seed: int | None
    """Of the checkpoint's training; none: unknown."""
    config: Json
    """The dataclass that was run, by `holdfast.record.encode`; `decode` gives it back."""
    attack: str | None = None
    """Name of the attack; none: the texts as they are."""
    training: Json | None = None
    """The TrainConfig that made the checkpoint, where it is known."""
    metrics: tuple[Metric, ...] = ()
    series: tuple[Series, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    """Metric to which examples were right: a 1 or 0 each, in the order that `checksums["data"]`
    stands for. Two records with the same checksum can be compared example by example."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of what was read: `data`, `model`, `lexicon`."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    """Every other seed: of the attack, of the sample."""
    environment: Json = field(default_factory=dict)
    """Versions, commit, machine: `describe_environment`."""
    device: str = ""
    seconds: float = 0.0
    outcomes: str | None = None
    """File of outcomes, beside the record."""
    labels: tuple[str, ...] = ()
    """Names of the classes by the codes that the outcomes have; none: unknown."""
    notes: tuple[str, ...] = ()
    """What a reader must know; one that begins with `WARNING` is shown as a warning."""

    @property
    def measured_on(self) -> str:
        """What its marks are about, in words: where this differs, models cannot be compared."""
        attack = f" under {self.attack}" if self.attack else ""
        data = self.checksums.get("data")
        return f"{self.task}{attack}" + (f" (data {data[:12]})" if data else "")

    def metric(self, name: str, group: str = "") -> Metric | None:
        """Return the metric of that name, or none."""
        found = (m for m in self.metrics if m.name == name and m.group == group)
        return next(found, None)
