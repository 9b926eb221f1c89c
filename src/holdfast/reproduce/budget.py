"""How much of a paper's experiment is run: all of it, or enough to see that it runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from holdfast.errors import InputError
from holdfast.victim.precision import Precision


@dataclass(frozen=True)
class Budget:
    """What is cut from a protocol; `None` leaves what the protocol says."""

    name: str
    warning: str = ""
    """What the result must not be taken for; empty: nothing was cut."""
    whole: bool = False
    """Whether every row and every task is run; else the short list of each recipe."""
    train: int | None = None
    """Training examples of a cell at most, validation included."""
    attacked: int | None = None
    """Examples attacked at most."""
    clean: int | Literal["same"] | None = "same"
    """Examples for the accuracy without an attack, which costs little; same: those that are
    attacked; none: all of the sample."""
    epochs: float | None = None
    learning_rate: float | None = None
    batch_size: int | None = None
    max_length: int | None = None
    inner_steps: int | None = None
    """Steps of an adversary inside training at most."""
    seeds: tuple[int, ...] | None = None
    checks: bool = False
    """Whether hidden states are followed and the model attacked through its gradients, too."""
    genetic_examples: int | None = None
    """Of the attacked ones those that the genetic search is given at most: it asks thousands of
    times for each. 0: it is left out."""
    measured_in: Precision | None = None
    """Precision of evaluations; none: that of the trainings."""

    def __post_init__(self) -> None:
        if self.checks and self.measured_in == "fp16":
            raise InputError(
                f"The budget {self.name} measures in fp16 and attacks models through their "
                "gradients, which cannot be followed in it; measure in bf16 or fp32, or leave out "
                "the checks."
            )

    def examples(self, wanted: int) -> int:
        """Return how many of `wanted` low-resource examples are drawn: 1,000 become `train`."""
        return wanted if self.train is None else max(8, wanted * self.train // 1000)


def at_most(wanted: int, limit: int | None) -> int:
    """Return what is wanted, or the limit where there is one below it."""
    return wanted if limit is None else min(wanted, limit)


FULL = Budget("full", whole=True, clean=None, checks=True)

# Few steps, so each is larger than the papers'; most sentences of SST-2 are within 40 tokens.
SMALL = Budget(
    "small",
    warning="This is the budget small: a few hundred training sentences, a handful of attacked "
    "ones, one seed. It shows that the experiment runs and what its table looks like; it is too "
    "small to conclude anything.",
    train=160,
    attacked=8,
    clean=100,
    epochs=2,
    learning_rate=2e-4,
    batch_size=32,
    max_length=40,
    inner_steps=2,
    seeds=(0,),
)
TINY = Budget(
    "tiny",
    warning="This is the budget tiny, for tests: its numbers mean nothing.",
    train=24,
    attacked=4,
    epochs=1,
    learning_rate=1e-3,
    batch_size=8,
    max_length=16,
    inner_steps=1,
    seeds=(0,),
)

BUDGETS: Mapping[str, Budget] = MappingProxyType({b.name: b for b in (SMALL, FULL, TINY)})


def find_budget(name: str) -> Budget:
    """Return the budget of that name."""
    if name not in BUDGETS:
        raise InputError(f"There is no budget {name!r}; expected small or full.")
    return BUDGETS[name]
