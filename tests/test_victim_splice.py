"""Queries spliced from the tokens of words are those of the tokenizer, whatever the text."""

import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers as kinds
from attack_tiny import victim
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from holdfast.attack import recipes
from holdfast.attack.spaces import build_space
from holdfast.text import CanonicalMap, Lexicon, Words
from holdfast.victim import DELETED, UNKNOWN, ModelVictim, Query
from holdfast.victim.splice import SplicedSpace, parted, splice


def cut_at_words() -> PreTrainedTokenizerFast:
    """WordPiece that cuts at words: signs that stand together are one chunk, `_` is a letter."""
    known = kinds.wordpiece()
    told = json.loads(known.backend_tokenizer.to_str())
    told["pre_tokenizer"] = {"type": "Whitespace"}
    vocabulary = told["model"]["vocab"]
    vocabulary |= {piece: len(vocabulary) + i for i, piece in enumerate(("##_", "good_m"))}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(told)),
        model_input_names=known.model_input_names,
        model_max_length=64,
        **known.special_tokens_map,
    )


SPLICED = (
    *("wordpiece", "wordpiece, cased", "wordpiece, cut at words"),
    *("byte-level BPE, trimmed", "byte-level BPE, prefixed"),
)
KINDS = {**kinds.KINDS, "wordpiece, cut at words": cut_at_words}
VICTIMS = {name: victim(make(), max_length=24) for name, make in KINDS.items()}
ATTACK = recipes.beam(kinds.LEXICON)
PIECES = st.sampled_from(
    [
        *kinds.WORDS,
        *(" ", " ", " ", "  ", "\n", ".", ", ", "'", "-", "_", "("),
        *("Film", "GREAT", "film's", "\N{ROCKET}", "\N{LATIN SMALL LIGATURE FI}", "e\u0301"),
        *("[", "]", "\N{TRADE MARK SIGN}", "\N{DEGREE SIGN}", "'.", "<", "/>", " '"),
        *("\x85", "\x0b", "\x0c", "\x1c", "\u2028", "\xa0"),  # BERT leaves out the first four
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
    rows = (rng.random((count, len(space))) * space.sizes).astype(np.int16)
    rows[-1:, :1] = UNKNOWN
    rows[-2:-1, -1:] = DELETED
    rows[-3:-2, rng.integers(max(1, len(space))) :][:, :1] = DELETED
    return rows


def check(found: ModelVictim, seed: int, *texts: str) -> bool:
    """Compare random queries with the tokenizer; return whether they were spliced."""
    table, space = opened(found, *texts)
    if not isinstance(table, SplicedSpace):
        return False
    rows = rows_of(space, seed)
    some, _ = parted(Query(table, rows, np.arange(len(rows))))
    if some is None:
        return False
    flat, lengths = splice([(table, some.rows)])
    spliced = np.split(flat, np.cumsum(lengths)[:-1])
    hidden = found.tokenizer.unk_token
    expected = found.tokenise([space.spelt(row, hidden) for row in some.rows])
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


def asked_whole(found: ModelVictim, row: list[int], *texts: str) -> bool:
    """Return whether a text is tokenised as a whole."""
    table, _ = opened(found, *texts)
    if not isinstance(table, SplicedSpace):
        return True
    some, _ = parted(Query(table, np.array([row], dtype=np.int16), np.arange(1)))
    return some is None


def test_a_pair_that_outgrows_the_window_is_read_as_a_whole() -> None:
    # which text loses a token depends on the lengths of both, so on the words that are chosen
    found = VICTIMS["wordpiece"]
    table, space = opened(found, "the film was", "good " * 16)
    assert isinstance(table, SplicedSpace)
    longest = space.original()
    longest[1] = int(np.argmax(table.counts[1, : space.sizes[1]]))
    assert asked_whole(found, longest.tolist(), *(words.text for words in space.texts))


@pytest.mark.parametrize(
    ("kind", "text", "row"),
    [
        ("wordpiece", "\N{TRADE MARK SIGN}film", [1]),  # one unknown chunk, if either is unknown
        ("byte-level BPE, trimmed", "(film)", [DELETED]),  # "()" may be one token
        ("byte-level BPE, trimmed", "the film", [0, UNKNOWN]),
        ("unigram", "film.", [1]),  # "e." may be one token
        ("wordpiece", "the film\x85good", [0, DELETED, 0]),  # "the good" is no more, but "good"
        ("wordpiece", "the film\x0bwas", [0, 1, 0]),  # nothing stands between them for BERT
        ("wordpiece, cut at words", "the (good) film", [0, DELETED, 0]),  # "()" is one chunk
        ("wordpiece, cut at words", "the good_film", [0, 0, 1]),  # one chunk for both words
        ("byte-level BPE, trimmed", " 'film'", [1]),  # alone it would be "'m", as in "I'm"
    ],
)
def test_what_its_neighbours_have_a_say_in_is_read_as_a_whole(
    kind: str, text: str, row: list[int]
) -> None:
    assert asked_whole(VICTIMS[kind], row, text)


def test_brackets_do_not_make_special_tokens_of_spliced_words() -> None:
    lexicon = Lexicon({"film": ("sep",)}, "test", "")
    found = VICTIMS["wordpiece"]
    words = (Words.of("a [FILM] it"),)
    (reading,) = found.read([words])
    space = build_space(recipes.beam(lexicon), words, reading.visible)
    table = found.open([reading], [space])[0]
    rows = np.array([[0, 1, 0]], dtype=np.int16)
    some, rest = parted(Query(table, rows, np.arange(1)))
    assert some is None
    assert rest is not None


def test_words_are_not_exchanged_by_tokens_where_the_start_of_a_text_is_cut() -> None:
    tokenizer = kinds.wordpiece()
    tokenizer.truncation_side = "left"
    found = ModelVictim(VICTIMS["wordpiece"].model, tokenizer, max_length=24)
    table, space = opened(found, "film " * 40)
    assert not isinstance(table, SplicedSpace)
    assert len(space) == 40  # its last words are read, so all may be


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
