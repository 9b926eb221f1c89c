"""How the texts of a space are gone through: one algorithm a file."""

from holdfast.attack.search.alzantot import Alzantot
from holdfast.attack.search.beam import Beam
from holdfast.attack.search.corner import Corner
from holdfast.attack.search.genetic import Genetic
from holdfast.attack.search.greedy import Greedy
from holdfast.attack.search.hotflip import HotFlip
from holdfast.attack.search.pwws import PWWS
from holdfast.attack.search.random import RandomSearch

__all__ = [
    "PWWS",
    "Alzantot",
    "Beam",
    "Corner",
    "Genetic",
    "Greedy",
    "HotFlip",
    "RandomSearch",
]
