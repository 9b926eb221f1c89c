"""From an attack and an example to its space: which words may change, and into what."""

from collections.abc import Sequence

from holdfast.attack.core import Attack, Substitutes
from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.victim import Place, Space


def build_space(attack: Attack, texts: tuple[Words, ...], visible: Sequence[int]) -> Space:
    """Return the space of one example, of which the victim reads `visible` words of each text."""
    places: list[Place] = []
    choices: list[tuple[str, ...]] = []
    for number in _moving(attack, len(texts)):
        substitutes = _substitutes(attack, texts[number])
        for index, word in enumerate(texts[number].words[: visible[number]]):
            own = (word.text, *substitutes[index])
            places.append(Place(number, index))
            choices.append(tuple(dict.fromkeys(own)))
    return Space(texts, tuple(places), tuple(choices), attack.placeholder)


def _moving(attack: Attack, count: int) -> list[int]:
    for number in attack.moving:
        if not -count <= number < count:
            raise InputError(
                f"The attack changes text {number} of an example and the examples have {count}; "
                "texts are counted from 0, and -1 is the last."
            )
    return sorted({number % count for number in attack.moving})


def _substitutes(attack: Attack, text: Words) -> Substitutes:
    found = attack.transformation.substitutes(text)
    for constraint in attack.word_constraints:
        found = constraint.keep(text, found)
    return found
