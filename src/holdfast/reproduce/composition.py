"""What neither paper has: both methods together, and text in canonical form, on SST-2.

RIFT or plain fine-tuning, times a connection (none, EX, the implicit equation solved, theta; on the
second quarter of the layers), times canonical text or not. Each model meets an attacker who knows
the lexicon it was trained with (PWWS, and the genetic search, which is stronger) and two who use
something else: PWWS with WordNet's synonyms, and misspellings. A defence that only knows its
attacker's lexicon shows here.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from itertools import product

from holdfast.implicit import Connection, ex_bert
from holdfast.objectives import AnyObjective, Rift, Standard
from holdfast.reproduce import imbert, rift
from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.recipe import Choice, Reproduction
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source
from holdfast.text import Canonical, Substitutions
from holdfast.train import Selection, TrainConfig

TASK = "sst2"
ATTACKS = {
    "PWWS": "pwws_rift",
    "Genetic": "genetic_jia",
    "PWWS, WordNet": "pwws_ren",
    "misspelt": "deepwordbug",
}
"""Column to the attack; the first two know the lexicon."""
CONNECTIONS = ("", "EX", "IM solved", "Theta")
OBJECTIVES = ("Standard", "RIFT")
TEXTS = ("", "canonical")


def _row(objective: str, connection: str, text: str) -> str:
    return " ".join(part for part in (objective, connection, text) if part)


PARTS = {_row(*parts): parts for parts in product(OBJECTIVES, CONNECTIONS, TEXTS)}
"""Row to its objective, connection and text."""
ROWS = tuple(PARTS)
SHORT = ("Standard", "Standard canonical", "RIFT", "RIFT Theta canonical")


def cells(setting: Setting) -> list[Cell]:
    """Return every combination."""
    attacks = tuple(ATTACKS.values()) if setting.budget.whole else ("pwws_rift", "deepwordbug")
    return cells_of(setting, setting.rows(ROWS, SHORT), tuple(ATTACKS), attacks)


def cells_of(
    setting: Setting, rows: Collection[str], columns: tuple[str, ...], attacks: tuple[str, ...]
) -> list[Cell]:
    """Return combinations, and who attacks them."""
    examples = at_most(1000, setting.budget.attacked)
    return [
        Cell(
            name_of(row),
            columns,
            _train(setting, *PARTS[row], seed),
            Measure(TASK, attacks, examples, genetic_examples=setting.budget.genetic_examples),
            seed,
        )
        for row in ROWS
        if row in rows
        for seed in setting.seeds_or(5)
    ]


def _train(setting: Setting, objective: str, connection: str, text: str, seed: int) -> TrainConfig:
    method = imbert.Method(_connection(setting, connection), _objective(setting, objective))
    substitutions = Substitutions(lexicon=setting.lexicon)
    return dataclasses.replace(
        imbert.train(setting, method, TASK, seed),
        substitutions=substitutions,
        canonical=Canonical(rounds=2, lexicon=setting.lexicon) if text else None,
        selection=Selection(by="loss" if objective == "Standard" else "hull_accuracy"),
    )


def _objective(setting: Setting, name: str) -> AnyObjective:
    if name == "Standard":
        return Standard()
    return Rift(alpha=0.1, beta=5, steps=setting.steps(3), features=rift.features(setting))


def _connection(setting: Setting, name: str) -> Connection | None:
    layers = imbert.quarters(setting.shape)[1]
    known = {
        "": None,
        "EX": ex_bert,
        "IM solved": imbert.METHODS["IM-BERT solved"].connection,
        "Theta": imbert.METHODS["Theta"].connection,
    }[name]
    return None if known is None else dataclasses.replace(known, layers=layers)


def row_places(
    row: str, task: str, *, table: str = "", attacks: Mapping[str, str] = ATTACKS
) -> Iterator[Place]:
    """Yield clean accuracy and every attack of a row."""
    model = name_of(row)
    yield Place(row, "clean", (Source(model, task, "accuracy"),), table=table)
    for column, attack in attacks.items():
        source = Source(model, task, "accuracy_under_attack", attack=attack)
        yield Place(row, column, (source,), table=table)


def places(setting: Setting) -> list[Place]:
    """Return the places of every row."""
    return [place for row in ROWS for place in row_places(row, TASK)]


REPRODUCTION = Reproduction(
    name="composition",
    protocol=__doc__,
    choices=(
        Choice("Settings of RIFT.", "alpha 0.1, beta 5, three steps of the adversary."),
        Choice("Layers of a connection.", "The second quarter: 4-6 of 12, as IM-BERT finds best."),
        Choice("Canonical text.", "Two rounds, with the lexicon of the attacker who knows it."),
        Choice("The genetic attack.", "No language model: it is stronger than the papers'."),
    ),
    cells=cells,
    places=places,
)
