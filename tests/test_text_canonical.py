"""Canonical text: which word is chosen, the way back to the user's text, and its file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.text import Canonical, CanonicalMap, CanonicalText, lexicon_of, split_words

LEXICON = lexicon_of({"movie": ["film"], "flick": ["movie"], "good": ["nice", "fine"]}, "here")
TEXTS = ["A film, the FILM and a film", "movie movie", "good"]
MAP = CanonicalMap.fit(TEXTS, LEXICON, rounds=2)
texts = st.lists(
    st.sampled_from(["movie", "Flick", "FINE", "nice", "film", "it's", " ", ", ", "\n", "\ud800"])
    | st.text(max_size=3),
    max_size=12,
).map("".join)


def test_each_word_becomes_the_most_frequent_of_its_neighbourhood() -> None:
    once = CanonicalMap.fit(TEXTS, LEXICON, rounds=1)
    assert once.mapping == {"flick": "movie", "movie": "film", "nice": "good", "fine": "good"}
    assert MAP.mapping == {"flick": "film", "movie": "film", "nice": "good", "fine": "good"}
    assert (MAP.rounds, MAP.lexicon) == (2, LEXICON.sha256)


def test_equally_frequent_words_become_the_first_in_the_alphabet() -> None:
    chosen = CanonicalMap.fit([], lexicon_of({"b": ["c"], "a": ["c"]}, "here"), rounds=1)
    assert chosen.mapping == {"c": "a"}


def test_frequent_words_stay_as_they_are() -> None:
    """`movie` is two of twelve words, `film` three: both stay, and rare words still change."""
    kept = CanonicalMap.fit(TEXTS, LEXICON, rounds=2, frequent=2 / 12)
    assert kept.mapping == {"flick": "movie", "nice": "good", "fine": "good"}
    assert CanonicalMap.fit(TEXTS, LEXICON, rounds=2, frequent=3 / 12) == MAP
    for share in (0.0, -1.0, 1.5):
        with pytest.raises(InputError, match=r"expected a number above 0.*such as 0.0005"):
            Canonical(frequent=share)


def test_the_order_of_the_texts_does_not_matter() -> None:
    assert CanonicalMap.fit(reversed(TEXTS), LEXICON) == MAP


def test_a_text_is_rewritten_in_its_own_case() -> None:
    assert MAP.apply("Movie, FLICK  and nice-ish nice!").text == "Film, FILM  and nice-ish good!"


def test_the_spans_say_where_the_words_were() -> None:
    found = MAP.apply("a flick, a film, fine")
    assert found.text == "a film, a film, good"
    assert found.spans == ((2, 6, 2, 7), (16, 20, 17, 21))
    assert found.to_original(2, 6) == (2, 7)
    assert found.to_original(3, 4) == (2, 7)
    assert found.to_original(6, 8) == (7, 9)
    assert found.to_canonical(2, 3) == (2, 6)
    assert found.to_canonical(0, 21) == (0, 20)


@given(text=texts)
def test_every_word_leads_back_to_the_users_word(text: str) -> None:
    found = MAP.apply(text)
    ours = [span[:2] for span in found.spans]
    for word in split_words(text):
        start, end = found.to_canonical(word.start, word.end)
        assert found.to_original(start, end) == (word.start, word.end)
        target = MAP.mapping.get(word.text.lower(), word.text)
        assert found.text[start:end].lower() == target.lower()
        assert ((start, end) in ours) == (word.text.lower() in MAP.mapping)


@given(text=texts, data=st.data())
def test_ranges_lead_both_ways_and_what_is_between_stays(text: str, data: st.DataObject) -> None:
    found = MAP.apply(text)
    start = data.draw(st.integers(0, len(found.text)))
    end = data.draw(st.integers(start, len(found.text)))
    before, after = found.to_original(start, end)
    assert 0 <= before <= after <= len(text)
    back = found.to_canonical(before, after)
    assert back[0] <= start <= end <= back[1]
    if all(span.end <= start or end <= span.start for span in found.spans):
        assert text[before:after] == found.text[start:end]
    assert found.to_original(0, len(found.text)) == (0, len(text))


@given(text=texts)
def test_a_text_without_such_words_is_untouched(text: str) -> None:
    assert CanonicalMap({}, "", 1).apply(text) == CanonicalText(text, ())


def test_enough_rounds_change_nothing_more() -> None:
    settled = CanonicalMap.fit(TEXTS, LEXICON, rounds=5)
    once = settled.apply("flick movie nice").text
    assert settled.apply(once).text == once


def test_hostile_texts_pass() -> None:
    text = "\x00movie\u202e\ud83c movie\u0301 " + "x" * 1_000_000 + " movie" * 9
    rewritten = MAP.apply(text).text
    assert rewritten.startswith("\x00film\u202e\ud83c movie\u0301 x")
    assert len(rewritten) == len(text) - 10


def test_a_map_is_saved_and_loaded(tmp_path: Path) -> None:
    assert CanonicalMap.load(tmp_path) is None
    MAP.save(tmp_path)
    assert CanonicalMap.load(tmp_path) == MAP
    assert [path.name for path in tmp_path.iterdir()] == ["canonical.json"]
    content = json.loads((tmp_path / "canonical.json").read_text())
    assert content["lexicon_sha256"] == LEXICON.sha256
    assert content["format"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("no json", "not valid JSON"),
        ("[]", "does not say"),
        ('{"format": 9, "holdfast": "9.9"}', r"format 9.*9\.9"),
        ('{"format": 1}', "does not say"),
        ('{"format": 1, "rounds": 1, "mapping": {"a": 1}}', "does not say"),
        ('{"format": 1, "rounds": "1", "mapping": {}}', "does not say"),
    ],
)
def test_a_bad_file_is_one_sentence(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "canonical.json").write_text(content)
    with pytest.raises(InputError, match=words):
        CanonicalMap.load(tmp_path)


def test_no_rounds_change_nothing_and_fewer_are_refused() -> None:
    assert Canonical(rounds=0).changes_nothing
    assert not Canonical(rounds=0, spelling=True).changes_nothing
    assert CanonicalMap.fit(TEXTS, LEXICON, rounds=0).mapping == {}
    with pytest.raises(InputError, match="expected 0 or more"):
        Canonical(rounds=-1)
    with pytest.raises(InputError, match="expected 0 or more"):
        CanonicalMap.fit(TEXTS, LEXICON, rounds=-1)
