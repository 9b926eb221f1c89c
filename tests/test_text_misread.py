"""What slips of a word are read as."""

import pytest

from holdfast.text.misread import misread
from holdfast.text.spelling import Spelling

WORDS = {"that": 90, "hat": 30, "film": 10, "zebra": 5}


@pytest.fixture
def spelling() -> Spelling:
    return Spelling(WORDS, 0.1)


def test_a_slip_that_is_a_word_is_read_as_that_word(spelling: Spelling) -> None:
    """One of the four letters of "that" is lost in a quarter of its slips, the first in some."""
    found = misread(["that"], spelling, draws=2000)["that"]
    assert set(found) == {"hat"}
    assert found["hat"] == pytest.approx(1 / 4 * 1 / 4, rel=0.2)


def test_a_word_whose_slips_are_all_undone_is_never_misread(spelling: Spelling) -> None:
    assert misread(["film", "zebra"], spelling) == {"film": {}, "zebra": {}}


def test_words_that_the_spelling_does_not_know_are_left_out(spelling: Spelling) -> None:
    assert set(misread(["that", "unheard", "5"], spelling)) == {"that"}


def test_the_slips_of_a_word_are_the_same_wherever_it_is_met(spelling: Spelling) -> None:
    assert misread(["hat"], spelling) == {"hat": misread(["film", "that", "hat"], spelling)["hat"]}


def test_a_word_of_one_letter_is_misread_too() -> None:
    found = misread(["a"], Spelling({"a": 100, "an": 80}, 0.1), draws=2000)["a"]
    assert set(found) == {"an"}
