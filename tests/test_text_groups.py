"""Groups of words: which are joined, in which order, and what becomes of their words."""

from collections.abc import Mapping
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data import Example, Task
from holdfast.errors import InputError
from holdfast.text import Canonical, CanonicalMap, lexicon_of
from holdfast.text.groups import grouped
from holdfast.train import DataConfig, TrainConfig
from holdfast.train.examples import RunExamples
from holdfast.train.wording import wording_of

NEIGHBOURS = {"film": ["movie", "flick"], "movie": ["film"], "good": ["fine"]}
COUNTS = {"film": 8, "movie": 4, "good": 2}


def f(count: float) -> float:
    return count * log(count)


def worth(hidden: float, one: float, other: float) -> float:
    return hidden / (f(one + other) - f(one) - f(other))


FLICK = worth(8.5 / 2, 8.5, 0.5)  # half of what stands for "film" is "flick", which has no other
MOVIE = worth(8.5 / 2 + 4.5, 8.5, 4.5)  # and the other half "movie", for which "film" stands, too
WITH_FLICK = worth(8.5 / 2 + 4.5, 9.0, 4.5)


def test_what_hides_most_for_its_cost_is_joined_first() -> None:
    assert FLICK > MOVIE > WITH_FLICK
    assert grouped(NEIGHBOURS, COUNTS, FLICK + 1e-9) == {}
    assert grouped(NEIGHBOURS, COUNTS, FLICK - 1e-9) == {"flick": "film"}
    assert grouped(NEIGHBOURS, COUNTS, MOVIE) == {"flick": "film", "fine": "good"}


def test_a_group_is_weighed_as_a_whole() -> None:
    """`movie` would have been worth it to `film` alone; with `flick` beside it, it costs more."""
    between = (MOVIE + WITH_FLICK) / 2
    assert "movie" not in grouped(NEIGHBOURS, COUNTS, between)
    assert grouped(NEIGHBOURS, COUNTS, WITH_FLICK - 1e-9)["movie"] == "film"


def test_an_exchange_counts_as_often_as_the_attacker_could_make_it() -> None:
    """A word that the texts have is worth hiding; one that they lack is not, and costs nothing."""
    seen = {"a": ["b"], "c": ["d"]}
    limit = worth(20.5, 20.5, 20.5)
    both = {"a": 20, "b": 20, "c": 0, "d": 20}
    assert grouped(seen, both, limit - 1e-9) == {"b": "a"}


def test_words_become_the_most_frequent_of_their_group_then_the_first_in_the_alphabet() -> None:
    chain = {"a": ["b"], "b": ["c"], "c": ["d"]}
    assert grouped(chain, {}, 1e-9) == {"b": "a", "c": "a", "d": "a"}
    assert grouped(chain, {"c": 3}, 1e-9) == {"a": "c", "b": "c", "d": "c"}


words = st.sampled_from("abcdefgh")
lexicons = st.dictionaries(words, st.lists(words, max_size=4, unique=True), max_size=8)
counted = st.dictionaries(words, st.integers(0, 30))


@given(lexicon=lexicons, counts=counted, least=st.floats(0.01, 3))
def test_a_word_of_a_group_stays_and_groups_only_grow(
    lexicon: Mapping[str, list[str]], counts: dict[str, int], least: float
) -> None:
    neighbours = {word: [w for w in of if w != word] for word, of in lexicon.items()}
    found = grouped(neighbours, counts, least)
    assert not set(found) & set(found.values())
    more = grouped(neighbours, counts, least / 2)
    same = {(v, w) for v in "abcdefgh" for w in "abcdefgh" if found.get(v, v) == found.get(w, w)}
    assert all(more.get(v, v) == more.get(w, w) for v, w in same)


def test_a_map_is_made_of_groups() -> None:
    lexicon = lexicon_of(NEIGHBOURS, "here")
    texts = ["film " * 8, "movie " * 4, "good good"]
    made = CanonicalMap.fit(texts, lexicon, groups=MOVIE)
    assert made.mapping == {"fine": "good", "flick": "film"}
    assert CanonicalMap.fit(reversed(texts), lexicon, groups=MOVIE) == made
    assert made.apply("A Flick, a movie").text == "A Film, a movie"


@pytest.mark.parametrize("groups", [0.0, -1.0, float("nan")])
def test_groups_that_hide_nothing_are_refused(groups: float) -> None:
    with pytest.raises(InputError, match="expected a number above 0"):
        Canonical(groups=groups)


def test_groups_are_made_whatever_the_rounds_are() -> None:
    """The recipe for one's own file has none, and takes the flag all the same."""
    made = Canonical(rounds=0, groups=0.08, trust=0.6)
    assert made.rewrites
    assert not made.changes_nothing
    assert not Canonical(rounds=0, spelling=True).rewrites
    lexicon, texts = lexicon_of(NEIGHBOURS, "here"), ["film " * 8, "movie " * 4, "good good"]
    none, two = (CanonicalMap.fit(texts, lexicon, n, groups=MOVIE).mapping for n in (0, 2))
    assert none == two


@pytest.mark.parametrize("other", [{"apart": 1.0}, {"frequent": 0.01}])
def test_groups_take_the_place_of_other_ways(other: dict[str, float]) -> None:
    with pytest.raises(InputError, match="leave those out"):
        Canonical(groups=0.08, **other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="leave those out"):
        CanonicalMap.fit([], lexicon_of(NEIGHBOURS, "here"), groups=0.08, frequent=0.01)


def test_slips_that_are_read_as_another_word_are_hidden_as_exchanges_are() -> None:
    """A fifth of the slips of "that" are read as "hat", and it is there for slips 20 times."""
    counts, slips = {"that": 20, "hat": 2}, {"that": {"hat": 0.2}, "hat": {"that": 0.1}}
    limit = worth(0.2 * 20.5 + 0.1 * 2.5, 20.5, 2.5)
    assert grouped({}, counts, limit - 1e-9, slips) == {"hat": "that"}
    assert grouped({}, counts, limit + 1e-9, slips) == {}


@pytest.mark.parametrize(
    ("slips", "expected"), [(False, "that cat, hat"), (True, "that cat, that")]
)
def test_a_run_hides_slips_of_its_spelling_where_that_is_asked_for(
    slips: bool, expected: str, tmp_path: Path
) -> None:
    rows = [Example(text, (text,), 0) for text in ["that cat sat"] * 9 + ["a hat"] * 3]
    how = Canonical(groups=0.05, spelling=True, misspelt=0.1, slips=slips)
    data = DataConfig(file=tmp_path / "own.csv")
    config = TrainConfig("model", tmp_path, data, canonical=how)
    task = Task("own", ("text",), ("bad", "good"))
    lexicon = lexicon_of({"cat": ["kitten"]}, "test")
    made = wording_of(RunExamples(task, rows, []), config, lexicon).canonical
    assert made is not None
    assert made.apply("that kitten, hat").text == expected


@pytest.mark.parametrize("other", [{"groups": 0.1}, {"spelling": True}])
def test_slips_are_hidden_in_groups_and_by_a_spelling(other: dict[str, float | bool]) -> None:
    with pytest.raises(InputError, match=r"leave canonical\.slips out"):
        Canonical(slips=True, **other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"leave canonical\.slips out"):
        CanonicalMap.fit([], lexicon_of(NEIGHBOURS, "here"), slips=True, **other)  # type: ignore[arg-type]
