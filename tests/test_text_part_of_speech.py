"""The tagger that needs nothing but WordNet's files."""

from pathlib import Path

import pytest
from attack_aids import write_dictionary
from miniature_wordnet import write_wordnet

from holdfast.text.part_of_speech import Tagger, read_tagger


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    return read_tagger(write_dictionary(tmp_path_factory.mktemp("wordnet")))


@pytest.mark.parametrize(
    ("sentence", "tags"),
    [
        ("the film was good", "other noun verb adj"),
        ("they film the plot", "other verb other noun"),  # what stands before decides
        ("the run", "other noun"),
        ("I run", "other verb"),
        ("she ran", "other verb"),  # an irregular form
        ("two plots", "other noun"),
        ("to love the Great Plot", "other verb other adj noun"),
        ("very good", "adv adj"),
        ("it ended quickly", "other verb adv"),  # words that WordNet does not have
        ("a hopeless zorb", "other adj noun"),
    ],
)
def test_words_are_tagged_in_their_sentence(tagger: Tagger, sentence: str, tags: str) -> None:
    assert tagger.tags(sentence.split()) == tags.split()


def test_another_word_is_tagged_in_the_same_place(tagger: Tagger) -> None:
    words = ["they", "love", "it"]
    assert tagger.tag(words, 1) == tagger.tag(words, 1, "run") == "verb"
    assert tagger.tag(words, 1, "good") == "adj"


def test_counts_and_irregular_forms_may_lack(tmp_path: Path) -> None:
    tagger = read_tagger(write_wordnet(tmp_path))
    assert tagger.tags(["the", "movies"]) == ["other", "noun"]


@pytest.mark.parametrize("words", [[], [""], ["\N{ROCKET}"], ["x" * 1000, "1984"]])
def test_any_words_are_tagged(tagger: Tagger, words: list[str]) -> None:
    assert len(tagger.tags(words)) == len(words)
