"""The demo's attack: how many sentences each model still gets right when words are replaced."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.attack import recipes, run_attack, summarise, verify
from holdfast.data import Example
from holdfast.record import encode
from holdfast.text import Lexicon
from holdfast.victim import load


def attack_all(
    models: Mapping[str, Path],
    examples: Sequence[Example],
    lexicon: Lexicon,
    seed: int,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return what PWWS does to each model; every success is checked again from its text."""
    attack = recipes.pwws_rift(lexicon)
    found = {}
    for name, folder in models.items():
        progress(f"attacking the {name} model")
        victim = load(folder)
        outcomes = list(run_attack(attack, victim, examples, seed=seed))
        verify(attack, victim, outcomes, examples)
        found[name] = encode(summarise(outcomes))
    return found
