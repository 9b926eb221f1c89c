"""A substitute is of the same part of speech as the word."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Literal

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import WordNetFolder
from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.text.part_of_speech import read_tagger

_NEAR = 4  # words on either side that NLTK's tagger is shown, as TextFooler does


@dataclass(frozen=True)
class PartOfSpeech:
    """Word and substitute are tagged in the place of the word in the original text."""

    wordnet: WordNetFolder
    """Files of the tagger `wordnet`."""
    swap_noun_and_verb: bool = False
    """Whether a noun may stand for a verb, and the other way round, as in TextFooler."""
    tagger: Literal["wordnet", "nltk"] = "wordnet"
    """`wordnet` needs no download and does not tell function words apart; `nltk` needs NLTK and
    its averaged_perceptron_tagger_eng, which the papers use."""

    def keep(self, text: Words, substitutes: Substitutes) -> Substitutes:
        """Return the substitutes of the word's part of speech."""
        words = [word.text for word in text.words]
        return [self._kept(words, at, found) for at, found in enumerate(substitutes)]

    def _kept(self, words: Sequence[str], at: int, found: tuple[str, ...]) -> tuple[str, ...]:
        if not found:
            return ()
        tag = self._tagger(words, at)
        own = tag(words[at])
        return tuple(new for new in found if self._alike(tag(new), own))

    def _alike(self, one: str, other: str) -> bool:
        return one == other or (self.swap_noun_and_verb and {one, other} <= {"noun", "verb"})

    def _tagger(self, words: Sequence[str], at: int) -> Callable[[str], str]:
        """Return how a word is tagged at this place."""
        if self.tagger == "wordnet":
            own = read_tagger(self.wordnet.source)
            return lambda word: own.tag(words, at, word)
        before, after = tuple(words[max(0, at - _NEAR) : at]), tuple(words[at + 1 : at + 1 + _NEAR])
        return lambda word: _nltk_tag(before, word, after)


@lru_cache(maxsize=100_000)
def _nltk_tag(before: tuple[str, ...], word: str, after: tuple[str, ...]) -> str:
    try:
        nltk = import_module("nltk")
        tag: str = nltk.pos_tag([*before, word, *after])[len(before)][1]
    except (ImportError, LookupError) as error:
        raise InputError(
            "NLTK's tagger is not on this machine; run `pip install nltk` and `python -m "
            'nltk.downloader averaged_perceptron_tagger_eng`, or use the tagger "wordnet".'
        ) from error
    coarse = {"NN": "noun", "VB": "verb", "MD": "verb", "JJ": "adj", "RB": "adv"}
    return coarse.get(tag[:2], tag)
