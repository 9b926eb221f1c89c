"""What neither paper has: which recipe holds best, if it may cost one point of clean accuracy.

Candidates on SST-2, IMDB and SNLI, small changes to plain fine-tuning first. They are compared on
development examples, and what is chosen there (`scripts/choose.py`) is measured on test: `--data`
names a folder of the one or of the other (`scripts/development.py` makes the first). The score of a
candidate is its accuracy under the attack that hurts it most. Attackers: PWWS and the genetic
search with the lexicon of the defences, PWWS with WordNet's synonyms, and misspellings.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from holdfast.implicit import Connection
from holdfast.objectives import Adversarial, AnyObjective, FreeLB, Rift, Standard
from holdfast.reproduce import imbert, rift
from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.composition import ATTACKS, row_places
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, white_box
from holdfast.text import Canonical, Substitutions
from holdfast.train import Selection, TrainConfig

TASKS = {"sst2": "SST-2", "imdb": "IMDB", "snli": "SNLI"}
"""Task to the heading of its table."""


@dataclass(frozen=True)
class Candidate:
    """What is changed of plain fine-tuning."""

    objective: str = "Standard"
    canonical: int = 0
    """Rounds of the canonical form of texts; 0: words stay as they are."""
    spelt: bool = False
    """Whether misspellings are undone first."""
    misspelt: float = 0.0
    """`Canonical.misspelt`."""
    lexicon: Literal["own", "joined", "further"] = "own"
    """Joined with WordNet's, or with the words of its words, too."""
    apart: float | None = None
    """`Canonical.apart`."""
    frequent: float | None = None
    """`Canonical.frequent`."""
    groups: float | None = None
    """`Canonical.groups`."""
    slips: bool = False
    """`Canonical.slips`."""
    trust: float = 1.0
    """`Canonical.trust`: below 1 texts are read in their own words, too."""
    gives_way: bool = False
    """`Canonical.gives_way`."""
    last_quarter: bool = False
    """Whether IM-BERT's connection, as printed, is on the last quarter of the layers."""


def _gives_way(groups: float, trust: float, *, slips: bool = False) -> Candidate:
    return Candidate(groups=groups, slips=slips, trust=trust, gives_way=True)


_LESS = {
    "frequent 5": Candidate(frequent=5 / 10_000),
    "frequent 2": Candidate(frequent=2 / 10_000),
    "groups 0.15": Candidate(groups=0.15),
    "groups 0.08": Candidate(groups=0.08),
    "groups 0.05": Candidate(groups=0.05),
    "groups 0.15 trust 0.55": Candidate(groups=0.15, trust=0.55),
    "groups 0.15 trust 0.6": Candidate(groups=0.15, trust=0.6),
    "groups 0.08 trust 0.55": Candidate(groups=0.08, trust=0.55),
    "groups 0.08 trust 0.6": Candidate(groups=0.08, trust=0.6),
    "groups 0.15 gives way 0.6": _gives_way(0.15, 0.6),
    "groups 0.15 gives way 0.7": _gives_way(0.15, 0.7),
    "groups 0.15 slips gives way 0.6": _gives_way(0.15, 0.6, slips=True),
    "groups 0.15 slips gives way 0.7": _gives_way(0.15, 0.7, slips=True),
    "groups 0.08 gives way 0.65": _gives_way(0.08, 0.65),
    "groups 0.08 gives way 0.7": _gives_way(0.08, 0.7),
    "trust 0.55": Candidate(trust=0.55),
    "trust 0.6": Candidate(trust=0.6),
    "trust 0.7": Candidate(trust=0.7),
}
"""Other groups of words, and what leaves a text more of its own: frequent ones stay, or all are
read as well."""


_SPELT = {"spelt": 0.0, "spelt 0.1": 0.1, "spelt 0.3": 0.3}
"""How many words are expected to be misspelt, known ones too."""


def _less(name: str, objective: str) -> dict[str, Candidate]:
    """Return canonical text of either lexicon, misspellings undone, with more of its own words.

    Known words are taken for misspelt only where the canonical form gives way.
    """
    return {
        f"{name} {spelt} {kind}canonical {how}": dataclasses.replace(
            candidate,
            objective=objective,
            canonical=2,
            spelt=True,
            misspelt=misspelt,
            lexicon="joined" if kind else "own",
        )
        for spelt, misspelt in _SPELT.items()
        for kind in ("", "wide ")
        for how, candidate in _LESS.items()
        if candidate.gives_way or not misspelt
    }


CANDIDATES: Mapping[str, Candidate] = MappingProxyType(
    {
        "Plain": Candidate(),
        "FreeLB 2": Candidate("FreeLB"),
        "Adv light": Candidate("Adv"),
        "Adv light wide": Candidate("Adv", lexicon="joined"),
        "RIFT light": Candidate("RIFT"),
        "Plain canonical": Candidate(canonical=2),
        "Plain wide canonical": Candidate(canonical=2, lexicon="joined"),
        "FreeLB 2 canonical": Candidate("FreeLB", canonical=2),
        "FreeLB 2 wide canonical": Candidate("FreeLB", canonical=2, lexicon="joined"),
        "Adv light canonical": Candidate("Adv", canonical=2),
        "Plain canonical once": Candidate(canonical=1),
        "Plain wide canonical once": Candidate(canonical=1, lexicon="joined"),
        "FreeLB 2 canonical once": Candidate("FreeLB", canonical=1),
        "FreeLB 2 wide canonical once": Candidate("FreeLB", canonical=1, lexicon="joined"),
        "Adv light canonical once": Candidate("Adv", canonical=1),
        "Plain spelt": Candidate(spelt=True),
        "Plain spelt canonical": Candidate(canonical=2, spelt=True),
        "Plain spelt wide canonical": Candidate(canonical=2, spelt=True, lexicon="joined"),
        "Plain spelt wide canonical once": Candidate(canonical=1, spelt=True, lexicon="joined"),
        "FreeLB 2 spelt": Candidate("FreeLB", spelt=True),
        "Plain spelt 0.1": Candidate(spelt=True, misspelt=0.1),
        "Plain spelt 0.3": Candidate(spelt=True, misspelt=0.3),
        "FreeLB 2 spelt 0.1": Candidate("FreeLB", spelt=True, misspelt=0.1),
        "FreeLB 2 spelt wide canonical": Candidate(
            "FreeLB", canonical=2, spelt=True, lexicon="joined"
        ),
        "Plain canonical apart 1.5": Candidate(canonical=2, apart=1.5),
        "Plain wide canonical apart 1.5": Candidate(canonical=2, lexicon="joined", apart=1.5),
        "Plain spelt canonical apart 1.5": Candidate(canonical=2, spelt=True, apart=1.5),
        "Plain spelt wide canonical apart 1.5": Candidate(
            canonical=2, spelt=True, lexicon="joined", apart=1.5
        ),
        "FreeLB 2 canonical apart 1.5": Candidate("FreeLB", canonical=2, apart=1.5),
        "FreeLB 2 canonical apart 1": Candidate("FreeLB", canonical=2, apart=1.0),
        "FreeLB 2 wide canonical apart 1.5": Candidate(
            "FreeLB", canonical=2, lexicon="joined", apart=1.5
        ),
        "FreeLB 2 wide canonical apart 1": Candidate(
            "FreeLB", canonical=2, lexicon="joined", apart=1.0
        ),
        "FreeLB 2 spelt canonical": Candidate("FreeLB", canonical=2, spelt=True),
        "FreeLB 2 spelt canonical apart 1.5": Candidate(
            "FreeLB", canonical=2, spelt=True, apart=1.5
        ),
        "FreeLB 2 spelt wide canonical apart 1.5": Candidate(
            "FreeLB", canonical=2, spelt=True, lexicon="joined", apart=1.5
        ),
        "FreeLB 2 spelt wide canonical apart 1": Candidate(
            "FreeLB", canonical=2, spelt=True, lexicon="joined", apart=1.0
        ),
        "Adv light spelt wide canonical": Candidate(
            "Adv", canonical=2, spelt=True, lexicon="joined"
        ),
        **_less("Plain", "Standard"),
        **_less("FreeLB 2", "FreeLB"),
        "Last quarter": Candidate(last_quarter=True),
        "Last quarter canonical": Candidate(canonical=2, last_quarter=True),
    }
)
SHORT = ("Plain", "FreeLB 2 canonical")


def cells(setting: Setting) -> list[Cell]:
    """Return every candidate on every task."""
    chosen = setting.rows(_rows(setting), SHORT)
    examples = at_most(1000, setting.budget.attacked)
    attacks = tuple(ATTACKS.values()) if setting.budget.whole else ("pwws_rift", "deepwordbug")
    return [
        Cell(
            name_of(row),
            tuple(ATTACKS),
            train(setting, CANDIDATES[row], task, seed),
            Measure(
                task,
                attacks,
                examples,
                sample="test",
                genetic_examples=setting.budget.genetic_examples,
            ),
            seed,
        )
        for task in setting.tasks(tuple(TASKS), ("sst2",))
        for row in chosen
        for seed in setting.seeds_or(3)
    ]


def _rows(setting: Setting) -> tuple[str, ...]:
    """Return the candidates that there are files for."""
    return tuple(row for row, one in CANDIDATES.items() if has_lexicon(setting, one))


def has_lexicon(setting: Setting, candidate: Candidate) -> bool:
    """Whether the lexicon of a candidate is at hand; its own may be the cached one."""
    return candidate.lexicon == "own" or _lexicon(setting, candidate) is not None


def train(setting: Setting, candidate: Candidate, task: str, seed: int) -> TrainConfig:
    """Return the training of a candidate."""
    lexicon = _lexicon(setting, candidate)
    moved = candidate.objective in ("Adv", "RIFT")
    return dataclasses.replace(
        imbert.train(
            setting,
            imbert.Method(_connection(setting, candidate), _objective(setting, candidate)),
            task,
            seed,
        ),
        substitutions=Substitutions(
            lexicon=lexicon,
            freeze_premise=task == "snli",
            limit=16 if candidate.lexicon == "joined" else 8,
        ),
        canonical=_canonical(candidate, lexicon),
        selection=Selection(by="hull_accuracy" if moved else "loss"),
    )


def _lexicon(setting: Setting, candidate: Candidate) -> Path | None:
    known = {"own": setting.lexicon, "joined": setting.joined, "further": setting.further}
    return known[candidate.lexicon]


def _objective(setting: Setting, candidate: Candidate) -> AnyObjective:
    steps = setting.steps(3)
    known: dict[str, AnyObjective] = {
        "Standard": Standard(),
        "FreeLB": FreeLB(steps=2),
        "Adv": Adversarial(beta=1, steps=steps),
        "RIFT": Rift(alpha=0.1, beta=1, steps=steps, features=rift.features(setting)),
    }
    return known[candidate.objective]


def _connection(setting: Setting, candidate: Candidate) -> Connection | None:
    layers = imbert.quarters(setting.shape)[-1]
    return imbert.printed(5, layers).connection if candidate.last_quarter else None


def _canonical(candidate: Candidate, lexicon: Path | None) -> Canonical | None:
    if not (candidate.canonical or candidate.spelt):
        return None
    return Canonical(
        rounds=candidate.canonical,
        spelling=candidate.spelt,
        misspelt=candidate.misspelt,
        apart=candidate.apart,
        frequent=candidate.frequent,
        groups=candidate.groups,
        slips=candidate.slips,
        trust=candidate.trust,
        gives_way=candidate.gives_way,
        lexicon=lexicon,
    )


def places(setting: Setting) -> list[Place]:
    """Return for every task clean accuracy and every attack, of every candidate."""
    found: list[Place] = []
    for task, title in TASKS.items():
        for row in _rows(setting):
            found += row_places(row, task, table=title)
            found.append(Place(row, "white box", (white_box(name_of(row), task),), table=title))
    return found


REPRODUCTION = Reproduction(
    name="strongest",
    protocol=__doc__,
    choices=(
        Choice("The adversary of Adv and RIFT.", "beta 1, alpha 0.1, three steps: little is lost."),
        Choice("The genetic attack.", "No language model: it is stronger than the papers'."),
        Choice("Canonical text.", "Two rounds, or one: `once`."),
        Choice("Misspellings.", "Undone: `spelt`; known words too, if so many are expected to be."),
        Choice("Words that the labels tell apart.", "`apart`: none becomes the other."),
        Choice("Frequent words.", "`frequent`: those of 5, or 2, in 10,000 words stay."),
        Choice("Groups of words.", "`groups`: hide so many exchanges, and `slips`, for a nat."),
        Choice("A second reading.", "`trust`: weight of the canonical text beside own words."),
    ),
    cells=cells,
    places=places,
)
