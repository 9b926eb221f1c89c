"""Words with spans, substitution by splicing, and case."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.text import Word, Words, is_one_word, like, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The film isn't bad.", ["The", "film", "isn't", "bad"]),
        ("well-made, 20-year-old 3D!", ["well-made", "20-year-old", "3D"]),
        ("'quoted' -- dash- _under_score", ["quoted", "dash", "under", "score"]),
        ("l\u2019été cafe\u0301s", ["l\u2019été", "cafe\u0301s"]),
        ("हिन्दी 映画 фильм", ["हिन्दी", "映画", "фильм"]),
        ("...", []),
        ("", []),
        ("a\x00b\ud800c", ["a", "b", "c"]),
    ],
)
def test_a_text_is_split_into_its_words(text: str, words: list[str]) -> None:
    assert [word.text for word in split_words(text)] == words


@given(st.text())
def test_spans_point_at_their_words_and_never_overlap(text: str) -> None:
    words = split_words(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    assert all(a.end <= b.start for a, b in pairwise(words))
    letters = sum(map(str.isalnum, text))
    assert sum(c.isalnum() for word in words for c in word.text) == letters


@given(st.text(alphabet="ab -'é.\ud800\x00", max_size=30), st.data())
def test_replacing_splices_and_leaves_the_rest_alone(text: str, data: st.DataObject) -> None:
    words = Words.of(text)
    places = st.integers(0, max(len(words) - 1, 0))
    chosen = data.draw(st.dictionaries(places, st.text(max_size=5), max_size=min(4, len(words))))
    replaced = words.replaced(chosen)
    expected = list(words.words)
    for index in sorted(chosen, reverse=True):  # from the end, so that earlier spans stay right
        word = expected[index]
        text = text[: word.start] + chosen[index] + text[word.end :]
    assert str(replaced) == text
    assert [w.text for w in replaced.words] == [
        chosen.get(index, word.text) for index, word in enumerate(words.words)
    ]
    assert all(text[w.start : w.end] == w.text for w in replaced.words)


def test_replacing_nothing_gives_the_same_text() -> None:
    words = Words.of("a fine film")
    assert words.replaced({}) == words
    assert words.replaced({1: "dull"}).words[2] == Word("film", 7, 11)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_word_that_is_not_there_cannot_be_replaced(index: int) -> None:
    with pytest.raises(InputError, match="of 3 words"):
        Words.of("a fine film").replaced({index: "x"})


@pytest.mark.parametrize(
    ("original", "substitute", "expected"),
    [
        ("film", "movie", "movie"),
        ("Film", "movie", "Movie"),
        ("FILM", "movie", "MOVIE"),
        ("A", "every", "Every"),
        ("iPhone", "phone", "phone"),
        ("McDonald", "burger", "Burger"),
        ("", "movie", "movie"),
        ("Film", "", ""),
    ],
)
def test_case_is_carried_over(original: str, substitute: str, expected: str) -> None:
    assert like(original, substitute) == expected


def test_what_is_one_word() -> None:
    assert all(map(is_one_word, ("film", "don't", "20-year-old")))
    assert not any(map(is_one_word, ("", "a film", "u.s.", "ready_to_hand", "film.", "'em")))


def test_a_long_text_takes_one_pass() -> None:
    assert len(split_words("-'" * 100_000 + "a" * 500_000 + "-" * 100_000)) == 1
