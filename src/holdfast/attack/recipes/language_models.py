"""Attacks whose substitutes a masked language model predicts."""

from pathlib import Path

from holdfast.attack.constraint import (
    EmbeddingDistance,
    ModificationRate,
    PartOfSpeech,
    SentenceSimilarity,
    StopWords,
)
from holdfast.attack.constraint.sentence_similarity import angular
from holdfast.attack.core import Attack
from holdfast.attack.masked_words import MaskedWords
from holdfast.attack.search import Greedy
from holdfast.attack.sources import ModelFolder, VectorFile, WordNetFolder
from holdfast.errors import InputError


def bert_attack(masked_model: Path | None = None, vectors: Path | None = None) -> Attack:
    """BERT-Attack (Li et al., EMNLP 2020; `LinyangLee/BERT-Attack`)."""
    constraints: tuple[StopWords | EmbeddingDistance, ...] = (StopWords(as_substitutes=False),)
    if vectors:
        # What keeps antonyms out, in the code: words both known to counter-fitted vectors.
        near = EmbeddingDistance(VectorFile.of(vectors), cosine=0.4, unknown="keep")
        constraints += (near,)
    return Attack(
        "bert_attack",
        # The first substitute that flips the class is taken; the code asks one after the other,
        # here they are asked at once, so that more queries are counted.
        search=Greedy("hidden_or_flipped", prefer="first"),
        # The word is not masked, and all predictions come from the original text. Words of
        # several pieces stay: the paper also combines the predictions of their pieces.
        transformation=MaskedWords(_model(masked_model), limit=48, masked=False),
        word_constraints=constraints,
        text_constraints=(ModificationRate(0.4),),
        placeholder="[UNK]",
    )


def bae(
    masked_model: Path | None = None, encoder: Path | None = None, wordnet: Path | None = None
) -> Attack:
    """BAE-R, the replacing one of the BAE attacks (Garg and Ramakrishnan, EMNLP 2020)."""
    return Attack(
        "bae",
        search=Greedy("deleted", prefer="similar"),
        # The paper masks a word in the current text; here, so that what may stand in a place is
        # known beforehand and can be checked afterwards, in the original one.
        transformation=MaskedWords(_model(masked_model), limit=50, masked=True),
        word_constraints=(PartOfSpeech(WordNetFolder.of(wordnet), swap_noun_and_verb=True),),
        # A cosine of 0.8 of the 15 words around, with the original text; texts under 15 words
        # are free, as in TextAttack's recipe.
        text_constraints=(
            SentenceSimilarity(ModelFolder.of(encoder), threshold=angular(0.8), against="original"),
        )
        if encoder
        else (),
    )


def _model(folder: Path | None) -> ModelFolder:
    if folder is None:
        raise InputError(
            "This attack needs a masked language model; name its folder (masked_model), such as "
            "one of bert-base-uncased."
        )
    return ModelFolder.of(folder)
