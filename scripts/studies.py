"""The studies behind docs/results: which reproductions, on which tasks, and how much of each."""

import dataclasses
from typing import Any

from holdfast.reproduce.budget import FULL, Budget

MODELS = {"all-MiniLM-L6-v2": 1e-4, "e5-small": 5e-5}
"""Model to its learning rate: the papers' 2e-5 is for models five times as large."""

ALONE = "Timed with nothing else on the device, on the pre-trained weights."
"""The note of a record whose latency can be published."""
VECTORS = "substitutions/counterfitted_vectors.txt"
"""In the data folder; `scripts/counter_fit.py` makes it."""


@dataclasses.dataclass(frozen=True)
class Study:
    """Reproductions that share a protocol and an output folder."""

    name: str
    reproductions: tuple[str, ...]
    budget: Budget
    tasks: tuple[str, ...]
    """Cells of other tasks are left for another time."""
    development: bool = False
    """Whether it is measured on held-out training examples, to choose by."""
    vectors: bool = False
    """Whether its attacker takes his words from vectors."""
    attacks: tuple[str, ...] = ()
    """Those that are run; none: all of the reproductions."""
    rate: float = 1.0
    """How many times the encoder's learning rate it trains with."""

    def budget_for(self, model: str) -> Budget:
        """Return what it runs of its protocol with an encoder."""
        return dataclasses.replace(self.budget, learning_rate=self.rate * MODELS[model])

    def faster(self, rate: float) -> "Study":
        """Return the same with a learning rate so many times as high, under a name of its own."""
        return dataclasses.replace(self, name=f"{self.name}-x{rate:g}", rate=rate)


def cut(**changes: Any) -> Budget:
    """Return what a study runs of its protocol."""
    return dataclasses.replace(FULL, **{"checks": False, "clean": 2000, **changes})


REVIEWS = {"epochs": 3, "batch_size": 32, "max_length": 128}
COMPOSED = cut(train=10000, attacked=100, epochs=2, batch_size=128)
PAIRS = ("qqp", "qnli", "mnli", "rte")
STRONGEST = {
    "sst2": {"epochs": 1, "batch_size": 128, "attacked": 200},
    "imdb": {"train": 4000, "epochs": 3, "batch_size": 32, "attacked": 100},
    "snli": {"train": 12000, "epochs": 2, "batch_size": 48, "attacked": 200},
}
BASE = {
    study.name: study
    for study in (
        Study(
            "composition",
            ("composition",),
            COMPOSED,
            ("sst2",),
        ),
        Study(
            "neighbours",
            ("neighbours",),
            COMPOSED,
            ("sst2",),
            vectors=True,
        ),
        Study(
            "rift-imdb",
            ("rift-table1", "rift-table3", "rift-table4", "rift-figure4", "rift-figure2"),
            cut(train=1500, attacked=50, **REVIEWS),
            ("imdb",),
        ),
        Study(
            "rift-imdb-pwws",
            ("rift-table1", "rift-table3", "rift-table4"),
            # other trainings than those above: the more are attacked, the more choose the epoch
            cut(train=1500, attacked=1000, genetic_examples=0, **REVIEWS),
            ("imdb",),
        ),
        Study(
            "rift-imdb-genetic",
            ("rift-table1", "rift-table3", "rift-table4"),
            # half precision: millions of queries a model, and nothing follows a gradient
            cut(train=1500, attacked=1000, measured_in="fp16", **REVIEWS),
            ("imdb",),
            attacks=("genetic_jia",),
        ),
        Study(
            "rift-features",
            ("rift-figure3",),
            cut(train=1500, attacked=125, **REVIEWS),
            ("imdb",),
        ),
        Study(
            "rift-snli",
            ("rift-table2", "rift-table3", "rift-table4"),
            cut(train=12000, attacked=1000, epochs=2, batch_size=48),
            ("snli",),
        ),
        Study(
            "rift-imdb-longer",
            ("rift-table1", "rift-table3"),
            cut(train=12000, attacked=1000, genetic_examples=200, **REVIEWS),
            ("imdb",),
        ),
        Study(
            "rift-snli-longer",
            ("rift-table2", "rift-table3"),
            cut(train=40000, attacked=1000, epochs=2, batch_size=48),
            ("snli",),
        ),
        Study(
            "imbert-sst2",
            ("imbert-table1", "imbert-table3"),
            cut(attacked=100, epochs=1, batch_size=128),
            ("sst2",),
        ),
        Study(
            "imbert-low-resource",
            ("imbert-table2",),
            cut(attacked=50, epochs=8, batch_size=32),
            ("sst2",),
        ),
        Study(
            "imbert-low-resource-pairs",
            ("imbert-table2",),
            cut(attacked=50, epochs=8, batch_size=32),
            PAIRS,
        ),
        Study(
            "imbert-imdb",
            ("imbert-table5",),
            cut(train=20000, attacked=50, epochs=1, batch_size=64),
            ("imdb",),
        ),
        *(
            Study(f"search-{task}", ("strongest",), cut(**budget), (task,), development=True)
            for task, budget in STRONGEST.items()
        ),
        Study(
            "search-snli-second",  # all validation pairs, where the first had another file of them
            ("strongest",),
            cut(**STRONGEST["snli"]),
            ("snli",),
            development=True,
        ),
        *(
            Study(f"strongest-{task}", ("strongest",), cut(checks=True, **budget), (task,))
            for task, budget in STRONGEST.items()
        ),
        *(
            Study(f"{name}-{task}", (name,), cut(**budget), (task,))
            for name in ("further", "misspellers")
            for task, budget in STRONGEST.items()
        ),
    )
}
FASTER = [
    BASE[name].faster(by) for name in ("imbert-sst2", "imbert-low-resource") for by in (4, 16)
]
"""Connected models are other models: the rate that suits the plain one need not suit them."""
STUDIES = {**BASE, **{study.name: study for study in FASTER}}
