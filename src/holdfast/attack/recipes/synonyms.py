"""Attacks by synonyms, word after word."""

from dataclasses import replace
from pathlib import Path

from holdfast.attack.any_of import AnyOf
from holdfast.attack.constraint import PartOfSpeech, SentenceSimilarity, StopWords
from holdfast.attack.core import Attack, Transformation
from holdfast.attack.named_entities import NamedEntities
from holdfast.attack.search import PWWS, Greedy
from holdfast.attack.sources import EntityFile, ModelFolder, VectorFile, WordNetFolder
from holdfast.attack.transformation import Neighbours
from holdfast.attack.vectors import VectorNeighbours
from holdfast.attack.wordnet_synonyms import WordNetSynonyms
from holdfast.text import Lexicon, find_lexicon

FURTHER = 50  # words two steps away at most, as many as TextFooler takes of its vectors


def pwws_rift(lexicon: Lexicon | None = None) -> Attack:
    """PWWS as RIFT reports it (Dong et al., NeurIPS 2021; `attack/pwws_attack.py`).

    Ren et al. 2019 take substitutes from WordNet, of the same part of speech, and named entities;
    RIFT takes the neighbours of the counter-fitted lexicon and no other constraint.
    """
    return Attack(
        "pwws_rift",
        search=PWWS(),
        # The look-up is by the word as it stands, so capitalised words stay.
        transformation=Neighbours(lexicon or find_lexicon(), case="exact"),
        # Of a premise and a hypothesis only the hypothesis changes.
        moving=(-1,),
        # The paper of PWWS hides a word behind the unknown token; RIFT's port writes "NULL",
        # which BERT's lower-cased vocabulary knows as a word like any other.
        placeholder="NULL",
    )


def pwws_further(lexicon: Lexicon | None = None) -> Attack:
    """PWWS as `pwws_rift`, by an attacker who reaches further than the lexicon of a defence (ours).

    A defence is made with the lexicon; he takes a word's substitutes and then theirs. Of the
    published counter-fitted lexicon that is some fourteen words for a word of a text, where
    `pwws_rift` has five; with the vectors themselves TextFooler takes up to 50.
    """
    known = lexicon or find_lexicon()
    return replace(
        pwws_rift(known),
        name="pwws_further",
        transformation=Neighbours(known.further(FURTHER), limit=FURTHER, case="exact"),
    )


def pwws_ren(wordnet: Path | None = None, entities: Path | None = None) -> Attack:
    """PWWS by its authors (Ren et al., ACL 2019; `JHL-HUST/PWWS`).

    They find named entities with spaCy and replace one by the most frequent of its kind that the
    training texts of its class do not have. Here a file says which names are of one kind, the
    most frequent first; without it no name is replaced, as in TextAttack.
    """
    synonyms = WordNetSynonyms(WordNetFolder.of(wordnet))
    return Attack(
        "pwws_ren",
        # Scores are taken once. TextAttack looks for the best substitute anew at every step and
        # leaves out those that do not help, which makes it stronger.
        search=PWWS(),
        # WordNet's synonyms of the same part of speech: theirs is spaCy's fine-grained tag, so a
        # plural has no synonym in WordNet's base forms; nor has it here. TextAttack takes the
        # synonyms of all parts of speech, and freezes stop words.
        transformation=(
            synonyms
            if entities is None
            else AnyOf((NamedEntities(EntityFile.of(entities)), synonyms))
        ),
        # The word is hidden behind id 0 of their vocabulary: the victim's own unknown word.
        placeholder=None,
    )


def textfooler(
    lexicon: Lexicon | None = None,
    vectors: Path | None = None,
    encoder: Path | None = None,
    wordnet: Path | None = None,
) -> Attack:
    """TextFooler (Jin et al., AAAI 2020; `jind11/TextFooler`).

    With counter-fitted `vectors` and a sentence `encoder` it is the whole attack. Without the
    first it has the neighbours that the lexicon has, without the second no bound on meaning.
    """
    chosen: Transformation = (
        # 50 neighbours with a cosine of at least 0.5
        VectorNeighbours(VectorFile.of(vectors), limit=50, cosine=0.5)
        if vectors
        else Neighbours(lexicon or find_lexicon(), limit=50)
    )
    return Attack(
        "textfooler",
        # Released: of the substitutes that flip the class the most similar is taken; else the
        # one with the lowest probability, if that is below the ORIGINAL text's. TextAttack wants
        # it below the current text's, and orders words by leaving them out.
        search=Greedy("hidden_or_flipped", prefer="similar", improve_on="original"),
        transformation=chosen,
        word_constraints=(
            StopWords(),
            # Tags are those of the original text; released, the substitute is tagged within the
            # words that were replaced before it.
            PartOfSpeech(WordNetFolder.of(wordnet), swap_noun_and_verb=True),
        ),
        # 1 - arccos(cosine) >= 0.5 of 15 words against the current text; the code's default of
        # 0.7 does not give the paper's numbers, say its authors. Texts under 15 words are free.
        # Their encoder is the Universal Sentence Encoder; any other gives other numbers.
        text_constraints=(SentenceSimilarity(ModelFolder.of(encoder)),) if encoder else (),
        placeholder="<oov>",  # as it is written there; BERT reads it as several pieces
    )
