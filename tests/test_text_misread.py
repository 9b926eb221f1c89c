"""What slips of a word are read as."""

import pytest

from holdfast.text.misread import misread, slips_of
from holdfast.text.spelling import Spelling
from holdfast.text.spelling_index import SpellingIndex

WORDS = {"that": 90, "hat": 30, "film": 10, "zebra": 5}


@pytest.fixture
def index() -> SpellingIndex:
    return SpellingIndex(Spelling(WORDS, 0.1))


def test_a_slip_that_is_a_word_is_read_as_that_word(index: SpellingIndex) -> None:
    """One of the four letters of "that" is lost in a quarter of its slips, the first in some."""
    assert misread(WORDS, index)["that"] == {"hat": pytest.approx(1 / 4 * 1 / 4)}


def test_what_is_read_as_a_word_is_summed_over_the_slips(index: SpellingIndex) -> None:
    """Of "hat" only "that" and "hhat" are read as "that": a letter in one of four places."""
    slips = {slip for slip, _ in slips_of("hat") if index.spelling.corrected(slip) == "that"}
    share = sum(chance for slip, chance in slips_of("hat") if slip in {*slips, "that"})
    assert misread(WORDS, index)["hat"] == {"that": pytest.approx(share)}
    assert share > 1 / 4 * 1 / 4 * 1 / 26


def test_a_word_whose_slips_are_all_undone_is_never_misread(index: SpellingIndex) -> None:
    found = misread(WORDS, index)
    assert found["film"] == found["zebra"] == {}


def test_words_that_the_spelling_does_not_know_are_left_out(index: SpellingIndex) -> None:
    assert set(misread({"that": 1, "unheard": 1, "5": 1}, index)) == {"that"}


def test_only_the_most_frequent_words_are_looked_at(index: SpellingIndex) -> None:
    assert set(misread(WORDS, index, most=2)) == {"that", "hat"}


def test_a_word_of_one_letter_has_slips_of_two_kinds() -> None:
    """Another letter, in a half of them, or one more: "n", "an" and "na" are read as "an"."""
    found = misread({"a": 100}, SpellingIndex(Spelling({"a": 100, "an": 80}, 0.1)))
    assert found == {"a": {"an": pytest.approx(1 / 2 * 1 / 25 + 1 / 2 * 1 / 26)}}


def test_what_hides_a_word_is_no_word_that_a_slip_is_read_as() -> None:
    """ "punk" may become "unk", which stands for a word that is hidden."""
    counts = {"punk": 90, "unk": 30, "bunk": 20}
    found = misread(counts, SpellingIndex(Spelling(counts, 0.1)))
    assert set(found) == {"punk", "bunk"}
    assert "unk" not in {meant for words in found.values() for meant in words}


@pytest.mark.parametrize("word", ["a", "ab", "aa", "that", "hollow"])
def test_each_slip_is_counted_once_for_each_way_to_make_it(word: str) -> None:
    assert sum(chance for _, chance in slips_of(word)) == pytest.approx(1)
