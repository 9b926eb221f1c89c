"""Queries spliced from the tokens of words are those of the tokenizer, whatever the text."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers as kinds
from attack_tiny import victim

from holdfast.attack import recipes
from holdfast.attack.spaces import build_space
from holdfast.text import CanonicalMap, Words
from holdfast.victim import UNKNOWN, ModelVictim
from holdfast.victim.splice import SplicedSpace, splice

SPLICED = ("wordpiece", "wordpiece, cased", "byte-level BPE, trimmed", "byte-level BPE, prefixed")
VICTIMS = {name: victim(make(), max_length=24) for name, make in kinds.KINDS.items()}
ATTACK = recipes.beam(kinds.LEXICON)
PIECES = st.sampled_from(
    [
        *kinds.WORDS,
        *(" ", " ", " ", "  ", "\n", ".", ", ", "'", "-", "_", "("),
        *("Film", "GREAT", "film's", "\N{ROCKET}", "\N{LATIN SMALL LIGATURE FI}", "e\u0301"),
    ]
)
TEXT = st.lists(PIECES, max_size=30).map("".join)


def opened(found: ModelVictim, *texts: str):
    words = tuple(map(Words.of, texts))
    (reading,) = found.read([words])
    space = build_space(ATTACK, words, reading.visible)
    return found.open([reading], [space])[0], space


def rows_of(space, seed: int, count: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((count, len(space))) * space.sizes).astype(np.int16)


def check(found: ModelVictim, seed: int, *texts: str) -> bool:
    """Compare random queries with the tokenizer; return whether they were spliced."""
    table, space = opened(found, *texts)
    if not isinstance(table, SplicedSpace):
        return False
    rows = rows_of(space, seed)
    flat, lengths = splice([(table, rows)])
    spliced = np.split(flat, np.cumsum(lengths)[:-1])
    expected = found.tokenise([space.spelt(row) for row in rows])
    assert [found.reader._cut(ids, table.tail) for ids in spliced] == expected
    return True


@pytest.mark.parametrize("kind", VICTIMS)
@hypothesis.settings(max_examples=25)
@hypothesis.given(TEXT, st.integers(0, 99))
def test_spliced_tokens_are_the_tokenizers(kind: str, text: str, seed: int) -> None:
    check(VICTIMS[kind], seed, text)


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level BPE, trimmed"])
@hypothesis.settings(max_examples=25)
@hypothesis.given(TEXT, TEXT, st.integers(0, 99))
def test_pairs_are_spliced_too(kind: str, first: str, second: str, seed: int) -> None:
    check(VICTIMS[kind], seed, first, second)


@pytest.mark.parametrize("kind", SPLICED)
@pytest.mark.parametrize(
    "text", ["the film was good", "A great film, a (good) Movie!", "film " * 40, "film"]
)
def test_ordinary_texts_need_no_tokenizer(kind: str, text: str) -> None:
    assert check(VICTIMS[kind], 0, text)


def test_pairs_that_fit_need_no_tokenizer() -> None:
    assert check(VICTIMS["wordpiece"], 0, "the film", "was a good film, great")
    assert not check(VICTIMS["wordpiece"], 0, "the film " * 9, "was a good film " * 9)


@pytest.mark.parametrize("kind", VICTIMS)
def test_unknown_words_are_one_token_where_there_is_one(kind: str) -> None:
    table, space = opened(VICTIMS[kind], "the film was good")
    row = space.original()
    row[1] = UNKNOWN
    hidden = VICTIMS[kind].tokenise([space.spelt(row, VICTIMS[kind].tokenizer.unk_token)])
    assert VICTIMS[kind].tokenizer.unk_token_id in hidden[0]
    if isinstance(table, SplicedSpace):
        flat, _ = splice([(table, row[None])])
        assert VICTIMS[kind].tokenizer.unk_token_id in flat.tolist()


def test_words_beyond_the_window_are_not_read() -> None:
    found = VICTIMS["wordpiece"]
    (short,) = found.read([(Words.of("film " * 100),)])
    assert short.visible == (22,)
    (pair,) = found.read([(Words.of("good " * 3), Words.of("film " * 100))])
    assert pair.visible == (3, 18)


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level BPE, trimmed", "unigram"])
@hypothesis.settings(max_examples=25)
@hypothesis.given(TEXT, st.integers(0, 99))
def test_the_canonical_form_is_part_of_the_victim(kind: str, text: str, seed: int) -> None:
    canonical = CanonicalMap({"film": "movie", "picture": "movie", "great": "good"}, "", 1)
    found = ModelVictim(
        VICTIMS[kind].model, VICTIMS[kind].tokenizer, max_length=24, canonical=canonical
    )
    check(found, seed, text)
    rewritten = canonical.apply(text).text
    assert found.tokenise([(text,)]) == VICTIMS[kind].tokenise([(rewritten,)])


def test_words_of_one_canonical_form_are_one_query() -> None:
    canonical = CanonicalMap({"film": "movie", "picture": "movie"}, "", 1)
    plain = VICTIMS["wordpiece"]
    found = ModelVictim(plain.model, plain.tokenizer, canonical=canonical)
    table, space = opened(found, "the film")
    same = [space.choices[1].index(word) for word in ("film", "movie", "picture")]
    assert len({int(table.keys[1, choice]) for choice in same}) == 1
    other = space.choices[1].index("cinematograph")
    assert table.keys[1, other] != table.keys[1, 0]
