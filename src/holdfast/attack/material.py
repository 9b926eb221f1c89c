"""The files that attacks lean on, and an attack made from its name and them."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.attack.allowed_sets import read_allowed_sets
from holdfast.attack.core import Attack
from holdfast.attack.goal import Goal, Untargeted
from holdfast.attack.recipes import find_recipe
from holdfast.text import read_lexicon


@dataclass(frozen=True)
class Material:
    """Files and folders that attacks read; what is not given is found or built where it can be."""

    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the cached lexicon, or one built from WordNet."""
    allowed_sets: Path | None = None
    """JSON file {text: {position: [substitutes]}}, for attacks that take one."""
    wordnet: Path | None = None
    """Folder of WordNet's database files, for attacks that use synonyms or parts of speech; none:
    where it is usually installed."""
    entities: Path | None = None
    """JSON file {kind: [names]}, the most frequent first, for attacks that replace names."""
    vectors: Path | None = None
    """File of word vectors, a word and its numbers a line, for attacks that compare words."""
    encoder: Path | None = None
    """Folder of a sentence encoder, for attacks that keep the meaning of the whole text."""
    language_model: Path | None = None
    """Folder of a causal language model, for attacks that keep a text likely."""
    masked_model: Path | None = None
    """Folder of a masked language model, for attacks that let it fill in words."""

    def unused_by(self, attack: str) -> list[str]:
        """Return the names of what is given here and not taken by the attack of that name."""
        takes = inspect.signature(find_recipe(attack)).parameters
        return [name for name in self._given() if _READ[name][0] not in takes]

    def _given(self) -> dict[str, Path]:
        return {name: path for name, path in vars(self).items() if path is not None}


_READ: Mapping[str, tuple[str, Callable[[Path], Any]]] = {
    "lexicon": ("lexicon", read_lexicon),
    "allowed_sets": ("allowed", read_allowed_sets),
    **{
        name: (name, Path)
        for name in (
            "wordnet",
            "entities",
            "vectors",
            "encoder",
            "language_model",
            "masked_model",
        )
    },
}
"""Of each kind of material the parameter of the recipe that takes it, and how it is read."""


def build_attack(
    name: str,
    material: Material,
    *,
    goal: Goal | None = None,
    moving: tuple[int, ...] = (-1,),
) -> Attack:
    """Return the attack of that name with what it takes of `material`; the rest is left."""
    recipe, left = find_recipe(name), material.unused_by(name)
    taken = {key: path for key, path in material._given().items() if key not in left}
    made = recipe(**{_READ[key][0]: _READ[key][1](path) for key, path in taken.items()})
    return dataclasses.replace(made, goal=goal or Untargeted(), moving=moving)
