"""A victim where TextAttack expects a model, so that its recipes attack the whole system."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, RunFailed, first_line
from holdfast.victim import Victim

TextInput = str | Sequence[str] | Mapping[str, str]
"""An example as TextAttack hands it over: a text, or the texts of a pair, with names or without."""


def model_wrapper(victim: Victim) -> Any:
    """Return `victim` as an instance of `textattack.models.wrappers.ModelWrapper`.

    What TextAttack asks goes through all that belongs to the victim: canonical text, tokenizer,
    connection. `get_grad`, which A2T needs, is there for a model that reads texts as they are.
    """
    return _wrapper_class()(victim)


def _wrapper_class() -> Any:
    base = _textattack_wrappers().ModelWrapper

    class VictimWrapper(base):  # type: ignore[misc, valid-type]
        """A Holdfast victim; its `model` and `tokenizer` are there for recipes that look."""

        def __init__(self, victim: Victim) -> None:
            self.victim = victim
            self.model = getattr(victim, "model", victim)  # goal functions ask for its class
            for name in ("tokenizer", "max_length"):
                if hasattr(victim, name):
                    setattr(self, name, getattr(victim, name))

        def __call__(self, text_input_list: Sequence[TextInput]) -> NDArray[np.float64]:
            """Return (texts, classes): probabilities."""
            return probabilities(self.victim, text_input_list)

        def get_grad(self, text_input: TextInput) -> dict[str, Any]:
            """Return the tokens of a text, and the gradient of the loss at each one's vector."""
            from holdfast.attack.bridge.gradient import token_gradient  # torch is needed only here

            return token_gradient(self.victim, texts_of(text_input))

        def _tokenize(self, inputs: Sequence[TextInput]) -> list[list[str]]:
            from holdfast.attack.bridge.gradient import token_names

            return [token_names(self.victim, texts_of(given)) for given in inputs]

        def __reduce__(self) -> tuple[Any, tuple[Victim]]:
            return model_wrapper, (self.victim,)  # a class made here has no name to pickle it by

    return VictimWrapper


def _textattack_wrappers() -> Any:
    try:
        return import_module("textattack.models.wrappers")
    except ImportError as error:  # it, or one of the many packages that it imports
        raise InputError(
            f"TextAttack cannot be imported ({first_line(error)}); install it with "
            "`pip install textattack`, or use Holdfast's own attacks, which do not need it."
        ) from error


def probabilities(victim: Victim, inputs: Sequence[TextInput]) -> NDArray[np.float64]:
    """Return (texts, classes), with rows that sum to 1 as exactly as doubles can.

    A row further from 1 than 1e-6 would get a softmax from TextAttack, without a word.
    """
    if isinstance(inputs, str):
        raise InputError("A single text was given; give a list of texts.")
    likely = np.exp(victim.score([texts_of(given) for given in inputs]))
    if np.isnan(likely).any():
        at = int(np.isnan(likely).any(axis=1).argmax())
        raise RunFailed(
            f"The victim's answer for {inputs[at]!r} is no number; attack a model that answers."
        )
    shares: NDArray[np.float64] = likely / likely.sum(axis=1, keepdims=True)
    return shares


def texts_of(given: TextInput) -> tuple[str, ...]:
    """Return the texts of one input."""
    if isinstance(given, str):
        return (given,)
    return tuple(given.values() if isinstance(given, Mapping) else given)
