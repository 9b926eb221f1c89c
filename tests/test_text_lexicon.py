"""Lexicons: reading, checking, keeping and finding them."""

import hashlib
import json
from pathlib import Path

import pytest

import holdfast.text.wordnet as wordnet_module
from holdfast.errors import InputError
from holdfast.text import (
    cache_folder,
    cache_lexicon,
    cached_lexicon,
    find_lexicon,
    lexicon_of,
    read_lexicon,
)

CONTENT = {"film": ["movie", "film", "motion picture", "movie"], "Good": ["Fine"], "the": []}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HOLDFAST_CACHE", str(folder))
    return folder


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_lexicon_is_read_tidied_and_knows_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "words.json", CONTENT)
    lexicon = read_lexicon(path)
    assert lexicon.neighbours == {"film": ("movie",), "good": ("fine",)}
    assert lexicon.source == str(path)
    assert lexicon.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert lexicon.edges == 2


def test_words_are_looked_up_in_lower_case(tmp_path: Path) -> None:
    lexicon = read_lexicon(write(tmp_path / "words.json", CONTENT))
    assert lexicon.of("FILM") == lexicon.of("film") == ("movie",)
    assert lexicon.of("the") == lexicon.of("unheard") == lexicon.of("") == ()


def test_further_words_are_those_of_a_words_substitutes_one_after_the_other() -> None:
    lexicon = lexicon_of({"a": ["b", "c"], "b": ["a", "d", "g"], "c": ["d", "e"]}, "here")
    further = lexicon.further(5)
    assert further.of("a") == ("b", "c", "d", "g", "e")
    assert further.of("b") == ("a", "d", "g", "c")
    assert lexicon.further(3).of("a") == ("b", "c", "d")
    assert further.sha256 != lexicon.sha256


def test_no_further_words_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="0 substitutes; expected 1 or more"):
        lexicon_of({"a": ["b"]}, "here").further(0)


def test_the_symmetric_lexicon_goes_both_ways_own_substitutes_first() -> None:
    lexicon = lexicon_of({"b": ["c", "a"], "z": ["a"], "c": ["b"]}, "here").symmetric()
    assert lexicon.neighbours == {"b": ("c", "a"), "z": ("a",), "c": ("b",), "a": ("b", "z")}
    assert lexicon.symmetric().neighbours == lexicon.neighbours


def test_a_lexicon_made_here_has_the_checksum_of_its_file(tmp_path: Path) -> None:
    made = lexicon_of({"été": ["printemps"]}, "here")
    path = tmp_path / "words.json"
    path.write_bytes(made.json().encode())
    assert read_lexicon(path).sha256 == made.sha256
    assert read_lexicon(path).neighbours == made.neighbours


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no json", "is not JSON"),
        (b"\xff\xfe", "is not JSON in UTF-8"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "holds a list"),
        (b'{"film": "movie"}', "gives 'film' something"),
        (b'{"a": [], "film": [1]}', "gives 'film' something"),
        (b"{}", "no word with a substitute"),
        (b'{"film": ["film", "motion picture"]}', "no word with a substitute"),
    ],
)
def test_a_bad_file_is_one_sentence(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as raised:
        read_lexicon(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_what_is_no_file_is_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_lexicon(tmp_path / name)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    monkeypatch.setenv("HOLDFAST_CACHE", "/own")
    assert cache_folder() == Path("/own")
    monkeypatch.delenv("HOLDFAST_CACHE")
    assert cached_lexicon() == Path("/shared/holdfast/lexicon.json")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/one")
    assert cache_folder() == Path("/one/.cache/holdfast")


def test_a_kept_lexicon_is_found_and_nothing_else_is_left(own_cache: Path) -> None:
    cache_lexicon(b'{"film": ["movie"]}')
    cache_lexicon(b'{"film": ["picture"]}')
    assert find_lexicon().of("film") == ("picture",)
    assert [path.name for path in own_cache.iterdir()] == ["lexicon.json"]


def test_a_named_lexicon_wins_over_the_kept_one(tmp_path: Path) -> None:
    cache_lexicon(b'{"film": ["movie"]}')
    path = write(tmp_path / "words.json", {"film": ["picture"]})
    assert find_lexicon(path).of("film") == ("picture",)


def test_a_cache_that_cannot_be_written_is_one_sentence(own_cache: Path) -> None:
    own_cache.write_text("a file in its place")
    with pytest.raises(InputError, match="HOLDFAST_CACHE"):
        cache_lexicon(b"{}")


def test_without_any_lexicon_the_sentence_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet_module, "_usual_places", lambda: iter(()))
    with pytest.raises(InputError, match="holdfast lexicon"):
        find_lexicon()
