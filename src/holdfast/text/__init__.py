"""Texts as words: spans, substitution lexicons, the tokens of a word, canonical form.

The names that need torch are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.text.alignment import WordTokens, align
from holdfast.text.canonical import CanonicalMap, CanonicalText
from holdfast.text.canonical_settings import Canonical
from holdfast.text.lexicon import (
    Lexicon,
    cache_folder,
    cache_lexicon,
    cached_lexicon,
    find_lexicon,
    lexicon_of,
    read_lexicon,
)
from holdfast.text.part_of_speech import Tagger, read_tagger
from holdfast.text.settings import TextSettings
from holdfast.text.substitutions import Substitutions
from holdfast.text.word_level import WordLevelReader, nltk_words
from holdfast.text.wording import Wording
from holdfast.text.wordnet import WordNet, find_wordnet, read_wordnet, wordnet_lexicon
from holdfast.text.words import Word, Words, is_one_word, like, split_words

if TYPE_CHECKING:
    from holdfast.text.candidates import (
        CandidateTable,
        Coverage,
        Substituter,
        TokenisedTexts,
    )

_NEED_TORCH = ("CandidateTable", "Coverage", "Substituter", "TokenisedTexts")

__all__ = [
    "CandidateTable",
    "Canonical",
    "CanonicalMap",
    "CanonicalText",
    "Coverage",
    "Lexicon",
    "Substituter",
    "Substitutions",
    "Tagger",
    "TextSettings",
    "TokenisedTexts",
    "Word",
    "WordLevelReader",
    "WordNet",
    "WordTokens",
    "Wording",
    "Words",
    "align",
    "cache_folder",
    "cache_lexicon",
    "cached_lexicon",
    "find_lexicon",
    "find_wordnet",
    "is_one_word",
    "lexicon_of",
    "like",
    "nltk_words",
    "read_lexicon",
    "read_tagger",
    "read_wordnet",
    "split_words",
    "wordnet_lexicon",
]


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        return getattr(import_module("holdfast.text.candidates"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
