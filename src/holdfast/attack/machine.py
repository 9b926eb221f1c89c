"""How an attack uses the machine; nothing of it changes what comes out, rounding apart."""

import os
from dataclasses import dataclass

from holdfast.attack.allowed_sets import AllowedSets
from holdfast.attack.core import Attack
from holdfast.attack.search import PWWS, Beam, Genetic, RandomSearch
from holdfast.attack.transformation import Neighbours
from holdfast.victim import Victim

MOST_WORKERS = 14
IN_FLIGHT, IN_FLIGHT_WITH_WORKERS = 256, 4096


@dataclass(frozen=True)
class Machine:
    """How many searches are under way, in how many processes, and whether alone on a GPU."""

    in_flight: int | None = None
    """Examples under attack at the same time; none: 4096 with workers, else 256."""
    workers: int | None = None
    """Processes that search while this one runs the model; none: 14 at most on a GPU, else 0."""

    shared: bool = False
    """Whether other processes use the same GPU: models that an evaluation loads itself get smaller
    batches then, of fewer widths."""

    def settled(self, attack: Attack, victim: Victim) -> tuple[int, int]:
        """Return both numbers for an attack: examples in flight, and workers."""
        workers = fitting_workers(attack, victim) if self.workers is None else self.workers
        return self.in_flight or (IN_FLIGHT_WITH_WORKERS if workers else IN_FLIGHT), workers


ANY_MACHINE = Machine()
"""What suits wherever it runs."""


def fitting_workers(attack: Attack, victim: Victim) -> int:
    """Return how many processes help: only on a GPU, and where no part needs that GPU itself."""
    plain = not attack.word_constraints and not attack.text_constraints
    plain &= isinstance(attack.transformation, Neighbours | AllowedSets)
    plain &= isinstance(attack.search, PWWS | Genetic | Beam | RandomSearch)
    model = getattr(victim, "model", None)
    helped = plain and model is not None and model.device.type == "cuda"
    # processes of one machine share its cores
    cores = (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(0, min(MOST_WORKERS, cores - 2)) if helped else 0
