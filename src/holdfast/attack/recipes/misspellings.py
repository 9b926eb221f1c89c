"""Attacks by misspellings, which a reader forgives and a vocabulary does not."""

import dataclasses
from pathlib import Path

from holdfast.attack.any_of import AnyOf
from holdfast.attack.constraint import EditDistance, SentenceSimilarity
from holdfast.attack.constraint.sentence_similarity import angular
from holdfast.attack.core import Attack
from holdfast.attack.search import Greedy
from holdfast.attack.sources import ModelFolder
from holdfast.attack.transformation import Neighbours
from holdfast.attack.typos import Kind, Typos
from holdfast.text import Lexicon, find_lexicon

SLIPS: tuple[Kind, ...] = ("swap", "substitute", "delete", "insert")


def deepwordbug() -> Attack:
    """DeepWordBug (Gao et al., 2018; `QData/deepWordBug`)."""
    return Attack(
        "deepwordbug",
        # The paper's combined score: what a word adds to the words before it and to those after.
        # TextAttack hides words instead. The paper misspells the first words by a fixed number
        # and asks nobody on the way; here, as in TextAttack, a misspelling has to help.
        search=Greedy("combined"),
        # One of each kind, anywhere in the word. Released code takes one kind for a whole run,
        # at a random letter; TextAttack tries one random misspelling of each.
        transformation=Typos(SLIPS),
        text_constraints=(EditDistance(30),),
    )


def deepwordbug_further() -> Attack:
    """DeepWordBug by one who tries more: four misspellings of each kind in a word, not one.

    Ours: a defence that undoes most misspellings leaves one of sixteen more often than one of four.
    """
    return dataclasses.replace(
        deepwordbug(), name="deepwordbug_further", transformation=Typos(SLIPS, each=4)
    )


def textbugger(lexicon: Lexicon | None = None, encoder: Path | None = None) -> Attack:
    """TextBugger in the black box (Li et al., NDSS 2019); there is no released code.

    The paper first orders the sentences of a document by their own class probability, then the
    words in each; here all words are in one order, as in TextAttack.
    """
    return Attack(
        "textbugger",
        search=Greedy("deleted"),
        transformation=AnyOf(
            (
                # A space into the word; a letter less, two swapped, both not at the ends; a letter
                # that looks alike. The paper puts spaces into short words only.
                Typos(("space", "delete", "swap", "lookalike"), ends=False),
                # and 5 neighbours: GloVe's in the paper, counter-fitted in TextAttack, here the
                # lexicon's
                Neighbours(lexicon or find_lexicon(), limit=5),
            )
        ),
        # A cosine of 0.8 with the original text. TextAttack bounds the angular similarity by 0.8.
        text_constraints=(
            SentenceSimilarity(
                ModelFolder.of(encoder), threshold=angular(0.8), window=None, against="original"
            ),
        )
        if encoder
        else (),
    )
