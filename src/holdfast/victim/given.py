"""What a caller gives as a victim: one that is ready, or a function from texts to probabilities."""

from collections.abc import Callable
from typing import Any, cast

from holdfast.errors import InputError
from holdfast.victim.function import FunctionVictim
from holdfast.victim.victim import Victim

GivenVictim = Victim | Callable[[list[Any]], Any]
"""A victim, or a function that takes a list of texts and returns two probabilities for each; one of
more classes is given as `FunctionVictim(function, classes=3)`."""


def as_victim(given: GivenVictim) -> Victim:
    """Return the victim; refuse a model without the tokenizer that reads its texts."""
    if hasattr(given, "session"):
        return cast(Victim, given)
    if hasattr(given, "state_dict"):
        raise InputError(
            f"A {type(given).__name__} by itself reads no texts; give "
            "holdfast.victim.ModelVictim(model, tokenizer), or holdfast.victim.load(folder)."
        )
    if not callable(given):
        raise InputError(
            f"A victim is a function from texts to probabilities, holdfast.victim.load(folder) or "
            f"another victim; got {type(given).__name__}."
        )
    return FunctionVictim(given)
