"""The attacks by name: each an annotated citation, with what paper and released code differ in.

A recipe without arguments uses the lexicon that is cached, or the one WordNet gives; a model that
an attack needs, or is better with, is named by the folder it lies in.
"""

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from holdfast.attack.core import Attack
from holdfast.attack.recipes.genetic import genetic_alzantot, genetic_jia
from holdfast.attack.recipes.language_models import bae, bert_attack
from holdfast.attack.recipes.misspellings import deepwordbug, deepwordbug_further, textbugger
from holdfast.attack.recipes.searches import beam, random_search
from holdfast.attack.recipes.synonyms import pwws_further, pwws_ren, pwws_rift, textfooler
from holdfast.attack.recipes.white_box import hotflip, hull
from holdfast.errors import InputError

__all__ = [
    "RECIPES",
    "bae",
    "beam",
    "bert_attack",
    "deepwordbug",
    "deepwordbug_further",
    "find_recipe",
    "genetic_alzantot",
    "genetic_jia",
    "hotflip",
    "hull",
    "pwws_further",
    "pwws_ren",
    "pwws_rift",
    "random_search",
    "textbugger",
    "textfooler",
]

RECIPES: Mapping[str, Callable[..., Attack]] = MappingProxyType(
    {
        recipe.__name__: recipe
        for recipe in (
            *(pwws_rift, pwws_further, pwws_ren, textfooler, genetic_jia, genetic_alzantot),
            *(deepwordbug, deepwordbug_further, textbugger, bert_attack, bae),
            *(hotflip, hull, beam, random_search),
        )
    }
)


def find_recipe(name: str) -> Callable[..., Attack]:
    """Return the recipe called `name`."""
    if name not in RECIPES:
        variants = [known for known in RECIPES if known.startswith(f"{name}_")]
        near = variants or difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.4)
        named = " or ".join(filter(None, (", ".join(near[:-1]), *near[-1:])))
        hint = f"did you mean {named}?" if near else f"expected one of {', '.join(RECIPES)}."
        raise InputError(f"There is no attack {name!r}; {hint}")
    return RECIPES[name]
