"""Every record of one model in one column, as one number with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.record import Metric, RunRecord
from holdfast.record.attacks import without_settings
from holdfast.record.pooling import REPEATS, Training, pool, training_of
from holdfast.record.run_record import no_better_than_majority

SHARES = frozenset(
    (
        *(
            "accuracy",
            "f1",
            "glue",
            "accuracy_under_attack",
            "certified_accuracy",
            "success_rate",
            "changed_share",
        ),
        *("paired_accuracy", "original_accuracy", "robustness_gap", "plain_mean"),
        *("official_score", "transfer_accuracy", "white_box_accuracy", "hull_accuracy"),
    )
)
"""Metrics from 0 to 1 that are shown in percent."""

ADVGLUE = "advglue"


class Column(NamedTuple):
    """What a column of a table measures."""

    task: str
    attack: str | None
    metric: str
    group: str = ""

    def without_settings(self) -> "Column":
        """Return the column under the attack's name as it was given; it may stand for several."""
        return self._replace(attack=without_settings(self.attack))


class Measurement(NamedTuple):
    """One number, and the record it stands in."""

    record: RunRecord
    metric: Metric

    @property
    def run(self) -> Training:
        """Which training it is about: its seed, and the checkpoint where the seed is unknown."""
        return training_of(self.record)


@dataclass(frozen=True)
class Score:
    """The mean over the trainings of one model, and what knowing nothing would score."""

    value: float
    low: float | None
    high: float | None
    runs: int
    """Trainings it is the mean of."""
    examples: int | None
    majority: float | None
    chance: float | None
    data: frozenset[str]
    """Checksums of the examples; two scores can be compared where they agree."""

    @property
    def several_samples(self) -> bool:
        """Whether each training was measured on several samples of the examples."""
        return len(self.data) > 1 and self.low is not None

    @property
    def no_better_than_majority(self) -> bool:
        """Whether always answering the most frequent class would have scored as much, or more."""
        return no_better_than_majority(self.value, self.majority)


def score(measurements: Sequence[Measurement], repeats: int = REPEATS) -> Score | None:
    """Return the mean over trainings, with the interval that the records allow.

    `repeats`: how often a bootstrap draws.
    """
    if not measurements:
        return None
    first = measurements[0].metric
    found = pool((m.record for m in measurements), first.name, first.group, repeats=repeats)
    if found is None or found.metric.value is None:
        return None
    return Score(
        value=found.metric.value,
        low=found.metric.low,
        high=found.metric.high,
        runs=found.trainings,
        examples=found.metric.total,
        majority=found.metric.majority,
        chance=found.metric.chance,
        data=found.data,
    )
