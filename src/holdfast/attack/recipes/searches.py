"""Plain searches over the lexicon, which belong to no paper."""

from holdfast.attack.core import Attack
from holdfast.attack.search import Beam, RandomSearch
from holdfast.attack.transformation import Neighbours
from holdfast.text import Lexicon, find_lexicon


def beam(lexicon: Lexicon | None = None, width: int = 8) -> Attack:
    """Beam search over the lexicon's neighbours: deterministic, and stronger than greedy ones."""
    return Attack("beam", search=Beam(width), transformation=Neighbours(lexicon or find_lexicon()))


def random_search(lexicon: Lexicon | None = None, tries: int = 1000) -> Attack:
    """Texts drawn at random from the lexicon's neighbours: what the others must beat."""
    transformation = Neighbours(lexicon or find_lexicon())
    return Attack("random_search", search=RandomSearch(tries), transformation=transformation)
