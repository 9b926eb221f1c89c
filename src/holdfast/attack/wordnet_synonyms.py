"""Synonyms from WordNet, of the part of speech that a word has in its sentence."""

from dataclasses import dataclass
from functools import lru_cache

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import WordNetFolder
from holdfast.text import WordNet, Words, is_one_word, like, read_wordnet
from holdfast.text.part_of_speech import read_tagger


@dataclass(frozen=True)
class WordNetSynonyms:
    """The words that share a sense with a word; function words and inflected forms have none."""

    wordnet: WordNetFolder
    limit: int | None = None
    """Substitutes a word has at most, those of its first senses first; none: all."""

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        wordnet, tagger = _wordnet(self.wordnet), read_tagger(self.wordnet.source)
        words = [word.text for word in text.words]
        found: list[tuple[str, ...]] = []
        for word, tag in zip(words, tagger.tags(words), strict=True):
            synonyms = () if tag == "other" else wordnet.synonyms(word, tag)
            spelt = (like(word, new) for new in synonyms if is_one_word(new))
            found.append(tuple(spelt)[: self.limit])
        return found


@lru_cache(maxsize=2)
def _wordnet(folder: WordNetFolder) -> WordNet:
    return read_wordnet(folder.source)
