"""The attacks by name: each an annotated citation, with what paper and released code differ in.

A recipe without arguments uses the lexicon that is cached, or the one WordNet gives.
"""

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from holdfast.attack.allowed_sets import AllowedSets
from holdfast.attack.core import Attack, Transformation
from holdfast.attack.search import PWWS, Beam, Genetic, RandomSearch
from holdfast.attack.transformation import Neighbours
from holdfast.errors import InputError
from holdfast.text import Lexicon, find_lexicon


def pwws_rift(lexicon: Lexicon | None = None) -> Attack:
    """PWWS as RIFT reports it (Dong et al., NeurIPS 2021; `attack/pwws_attack.py`).

    Ren et al. 2019 take substitutes from WordNet, of the same part of speech, and named entities;
    RIFT takes the neighbours of the counter-fitted lexicon and no other constraint.
    """
    return Attack(
        "pwws_rift",
        search=PWWS(),
        # The look-up is by the word as it stands, so capitalised words stay.
        transformation=Neighbours(lexicon or find_lexicon(), case="exact"),
        # Of a premise and a hypothesis only the hypothesis changes.
        moving=(-1,),
        # The paper of PWWS hides a word behind the unknown token; RIFT's port writes "NULL",
        # which BERT's lower-cased vocabulary knows as a word like any other.
        placeholder="NULL",
    )


def genetic_jia(lexicon: Lexicon | None = None, allowed: AllowedSets | None = None) -> Attack:
    """The genetic attack of Jia et al., EMNLP 2019, which RIFT and ASCC report.

    Unlike TextAttack's recipe of that name it sets no limit on the number of replaced words,
    freezes no stop words, and may take a replacement back.
    """
    # Jia et al. keep of the lexicon's neighbours those whose log-probability in a language model
    # falls by at most 5: those are the `allowed` sets. Without them every neighbour is allowed,
    # which makes the attack stronger than the published one.
    chosen: Transformation = allowed or Neighbours(lexicon or find_lexicon())
    return Attack(
        "genetic_jia", search=Genetic(population=60, iterations=40), transformation=chosen
    )


def beam(lexicon: Lexicon | None = None, width: int = 8) -> Attack:
    """Beam search over the lexicon's neighbours: deterministic, and stronger than greedy ones."""
    return Attack("beam", search=Beam(width), transformation=Neighbours(lexicon or find_lexicon()))


def random_search(lexicon: Lexicon | None = None, tries: int = 1000) -> Attack:
    """Texts drawn at random from the lexicon's neighbours: what the others must beat."""
    transformation = Neighbours(lexicon or find_lexicon())
    return Attack("random_search", search=RandomSearch(tries), transformation=transformation)


RECIPES: Mapping[str, Callable[..., Attack]] = MappingProxyType(
    {recipe.__name__: recipe for recipe in (pwws_rift, genetic_jia, beam, random_search)}
)


def find_recipe(name: str) -> Callable[..., Attack]:
    """Return the recipe called `name`."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(RECIPES)}."
        raise InputError(f"There is no attack {name!r}; {hint}")
    return RECIPES[name]
