"""What a substitute, or a whole text, must keep to: one constraint a file."""

from holdfast.attack.constraint.edit_distance import EditDistance
from holdfast.attack.constraint.embedding_distance import EmbeddingDistance
from holdfast.attack.constraint.language_model import LanguageModel
from holdfast.attack.constraint.modification_rate import ModificationRate
from holdfast.attack.constraint.part_of_speech import PartOfSpeech
from holdfast.attack.constraint.repeat_modification import RepeatModification
from holdfast.attack.constraint.sentence_similarity import SentenceSimilarity
from holdfast.attack.constraint.stop_words import StopWords

__all__ = [
    "EditDistance",
    "EmbeddingDistance",
    "LanguageModel",
    "ModificationRate",
    "PartOfSpeech",
    "RepeatModification",
    "SentenceSimilarity",
    "StopWords",
]
