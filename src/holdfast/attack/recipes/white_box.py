"""Attacks that see the model's gradients, as an adversary who holds the weights does."""

from holdfast.attack.core import Attack
from holdfast.attack.search import Corner, HotFlip
from holdfast.attack.transformation import Neighbours
from holdfast.text import Lexicon, find_lexicon


def hotflip(lexicon: Lexicon | None = None) -> Attack:
    """HotFlip on words (Ebrahimi et al., ACL 2018), over the lexicon's neighbours.

    The paper allows any word of the vocabulary with a cosine of 0.8 and the same part of speech,
    trusts the gradient without asking, and keeps a beam; here each step is asked for, and one
    text is kept.
    """
    transformation = Neighbours(lexicon or find_lexicon())
    return Attack("hotflip", search=HotFlip(tried=16), transformation=transformation)


def hull(lexicon: Lexicon | None = None) -> Attack:
    """The corner of the convex hull, as RIFT's code evaluates (`evaluation_by_ascc`).

    It is the adversary of adversarial training itself, made to give real texts: weaker than a
    search, and the first that a model trained against the hull should withstand.
    """
    # RIFT climbs once and looks at the corner alone. Three climbs, and all texts on the way to
    # the corner, make it a little stronger, and its successes shorter.
    transformation = Neighbours(lexicon or find_lexicon())
    return Attack("hull", search=Corner(steps=10, restarts=3), transformation=transformation)
