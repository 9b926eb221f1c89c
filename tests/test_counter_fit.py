"""scripts/counter_fit.py: opposites end apart, synonyms near, the rest where it was."""

import sys
from pathlib import Path

import numpy as np
import pytest
from miniature_wordnet import LICENCE, write_wordnet

# good and bad are opposites; grand is similar to the one, awful to the other; wet and dry in part
ADJECTIVES = """\
00000010 00 a 01 good 0 002 ! 00000020 a 0101 & 00000030 a 0000 | a gloss
00000020 00 a 01 bad 0 002 ! 00000010 a 0101 & 00000040 a 0000 | with a bar | in it
00000030 00 s 02 grand(p) 0 Great 0 001 & 00000010 a 0000 | a gloss
00000040 00 s 01 awful 0 001 & 00000020 a 0000 | a gloss
00000050 00 a 02 damp 0 wet 0 001 ! 00000060 a 0201 | a gloss
00000060 00 a 01 dry 0 001 ! 00000050 a 0102 | a gloss
"""
OPPOSITES = {(a, b) for a in ("good", "grand", "great") for b in ("bad", "awful")} | {
    ("wet", "dry")
}
VECTORS = {"movie": (0, 1, 0.2, 0), "picture": (0, 0, 1, 0), "film": (1, 1, 1, 1)}
VECTORS |= {"good": (1, 0.1, 0, 0), "bad": (1, -0.1, 0, 0)}
VECTORS |= {"table": (0, 0, 0, 1), "tables": (0, 0, 0.1, 1)}
NO_WORDS = {"Berlin": (1, 1, 1, 1), "mp3": (1, 1, 1, 1)}


def _lines(vectors):
    return (f"{word} {' '.join(map(str, row))}\n" for word, row in vectors.items())


@pytest.fixture(scope="module")
def counter_fit(script):
    return script("counter_fit")


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    folder = write_wordnet(tmp_path / "wordnet")
    (folder / "data.adj").write_text(LICENCE + ADJECTIVES)
    (folder / "index.adj").write_text(LICENCE + "good a 1 1 ! 1 0 00000010  \n")
    return folder


def test_opposites_are_words_and_what_is_similar_to_them(counter_fit, wordnet):
    found = set(counter_fit.antonyms(wordnet))
    assert {pair for pair in found if pair in OPPOSITES} == OPPOSITES
    assert {tuple(sorted(pair)) for pair in found} == {tuple(sorted(pair)) for pair in OPPOSITES}


def test_what_is_written_is_near_where_it_means_the_same(
    counter_fit, wordnet, tmp_path, monkeypatch
):
    given, written = tmp_path / "given.txt", tmp_path / "written.txt"
    given.write_text("".join(_lines({**NO_WORDS, **VECTORS})))
    files = ["--vectors", str(given), "--wordnet", str(wordnet), "--output", str(written)]
    monkeypatch.setattr(sys, "argv", ["counter_fit.py", *files])
    counter_fit.main()
    lines = [line.split(" ") for line in written.read_text().splitlines()]
    rows = {word: np.array(numbers, dtype=float) for word, *numbers in lines}
    assert set(rows) == set(VECTORS)
    assert np.allclose([np.linalg.norm(row) for row in rows.values()], 1, atol=1e-3)
    before = {word: np.array(row) / np.linalg.norm(row) for word, row in VECTORS.items()}
    assert before["good"] @ before["bad"] > 0.9 > 0.5 > rows["good"] @ rows["bad"]
    assert before["picture"] @ before["movie"] < 0.3 < 0.6 < rows["picture"] @ rows["movie"]
    assert np.allclose(rows["film"], before["film"], atol=1e-3)  # it means something else first
    assert np.allclose(rows["table"], before["table"], atol=1e-4)  # nothing asks it to move


def test_the_least_frequent_words_are_left_out(counter_fit, tmp_path):
    file = tmp_path / "given.txt"
    file.write_text("".join(f"{word} 1 0 0\n" for word in ("a", "b", "c")))
    assert counter_fit.read(file, 2)[0] == ["a", "b"]


def test_what_was_very_near_follows_a_word_that_is_pulled_away(counter_fit):
    rows = counter_fit.unit(np.array([[1, 0, 0], [1, 0.1, 0], [0, 0, 1]], dtype=np.float32))
    none, synonyms = np.empty((0, 2), dtype=np.int64), np.array([[0, 2]])
    found = counter_fit.counter_fitted(rows, none, synonyms)
    assert found[0] @ found[2] > 0.6  # the pair is pulled together
    assert found[1] @ found[2] > 0.3  # and the neighbour comes along, without being asked
    assert np.allclose(counter_fit.counter_fitted(rows, none, none), rows, atol=1e-6)


def test_opposites_are_pushed_apart_even_if_they_are_called_synonyms(counter_fit):
    rows = counter_fit.unit(np.array([[1, 0, 0], [1, 0.1, 0]], dtype=np.float32))
    both = np.array([[0, 1]])
    found = counter_fit.counter_fitted(rows, both, both)
    assert found[0] @ found[1] < 0.5
