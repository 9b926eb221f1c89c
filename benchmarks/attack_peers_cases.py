"""What is set beside what: the attacks, their texts and the sides of each case."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from attack_peers_searches import DriftingGenetic, WeightedSaliency

from holdfast.attack import Attack, Neighbours, recipes
from holdfast.attack.constraint import StopWords
from holdfast.attack.constraint.stop_words import ENGLISH
from holdfast.text import Lexicon

ROUNDS = 3
POPULATION, ITERATIONS = 60, 40


@dataclass(frozen=True)
class Side:
    """One way to run an attack."""

    name: str
    peer: Literal["textattack", "openattack"] | None = None
    """Whose process; none: Holdfast's own."""
    way: Literal["as shipped", "forward", "recipe", "same search"] = "recipe"
    """Of a peer: its own wrapper of the model, or one that pads to the longest text and runs
    forward only. Of Holdfast: its recipe, or TextAttack's search."""
    rounds: int = ROUNDS
    """Times it is run."""
    bare: bool = False
    """Whether the bare forward passes are taken of its texts."""


@dataclass(frozen=True)
class Case:
    """One attack on some texts, by several sides."""

    name: str
    attack: Literal["pwws", "genetic"]
    texts: int
    sides: tuple[Side, ...]
    share: float | None = None
    """Words that may change at most, as a share; none: all."""

    def job(self, side: Side) -> dict[str, Any]:
        """Return what a peer is told, but for the texts."""
        return {
            "attack": self.attack,
            "wrapper": side.way,
            "share": self.share,
            "population": POPULATION,
            "iterations": ITERATIONS,
        }

    def warm_up(self) -> "Case":
        """Return the case that warms a side up: the model and the tokenizer are what is cold."""
        return replace(self, attack="pwws")


TEXTATTACK = Side("TextAttack, forward only, dynamic padding", "textattack", "forward")
TEXTATTACK_SHIPPED = Side("TextAttack, as shipped", "textattack", "as shipped", rounds=1)
OPENATTACK = Side("OpenAttack, forward only, dynamic padding", "openattack", "forward", rounds=1)
OPENATTACK_SHIPPED = Side("OpenAttack, as shipped", "openattack", "as shipped", rounds=1)
RECIPE = Side("Holdfast, its recipe", bare=True)
SAME = Side("Holdfast, TextAttack's search", way="same search")

SHIPPED = (TEXTATTACK_SHIPPED, OPENATTACK_SHIPPED, OPENATTACK)

CASES = (
    Case("PWWS, few texts", "pwws", 8, (*SHIPPED, RECIPE, SAME)),
    Case("PWWS", "pwws", 100, (TEXTATTACK, RECIPE, SAME)),
    Case("genetic", "genetic", 12, (TEXTATTACK, RECIPE, SAME)),
    # minutes a text, so four of them
    Case("genetic, few texts", "genetic", 4, (OPENATTACK, RECIPE)),
    # the limit of TextAttack's own recipe
    Case(
        "genetic, 20 % of words",
        "genetic",
        8,
        (replace(TEXTATTACK, rounds=2), replace(SAME, rounds=2, bare=True)),
        share=0.2,
    ),
)


def attack_of(case: Case, side: Side, lexicon: Lexicon) -> Attack:
    """Return Holdfast's attack; stop words stay in all of them, as in TextAttack's recipes."""
    frozen = (StopWords(ENGLISH),)
    if side.way == "recipe":
        if case.attack == "pwws":
            return replace(recipes.pwws_rift(lexicon), word_constraints=frozen)
        assert case.share is None
        return replace(recipes.genetic_jia(lexicon), word_constraints=frozen)
    search = (
        WeightedSaliency(ENGLISH)
        if case.attack == "pwws"
        else DriftingGenetic(POPULATION, ITERATIONS, case.share)
    )
    return Attack(
        f"textattack's {case.attack}", search, Neighbours(lexicon), word_constraints=frozen
    )
