"""Words and their tokens, with tokenizers of each kind."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_tokenizers import KINDS, TEXTS, byte_bpe, unigram, wordpiece
from transformers import PreTrainedTokenizerFast

from holdfast.errors import InputError
from holdfast.text import Substituter, Substitutions, WordTokens, align, lexicon_of, split_words

TOKENIZERS = {name: make() for name, make in KINDS.items()}
hostile = st.text(alphabet="film good\n\x00é\u0301日本_'-.\u200d🎬", max_size=25)


def aligned(tokenizer: PreTrainedTokenizerFast, *texts: str, **options: object) -> list[list[str]]:
    """Return the tokens of each word of the last text, joined as the tokenizer spells them."""
    encoded = tokenizer(*texts, return_offsets_mapping=True, **options)
    number, tokens = len(texts) - 1, encoded.tokens()
    words = split_words(texts[-1])
    found = align(texts[-1], words, encoded["offset_mapping"], encoded.sequence_ids(), number)
    return [[tokens[at] for at in word.positions] for word in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_the_tokens_of_a_word_spell_it(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    for word, tokens in zip(split_words(text), aligned(tokenizer, text), strict=True):
        spelt = "".join(tokens).replace("##", "").replace("Ġ", "").replace("▁", "")
        if tokenizer.unk_token not in tokens:
            letters = word.text.replace("é", "Ã©") if "BPE" in kind else word.text
            plain = letters.lower().replace("é", "e") if kind == "wordpiece" else letters
            assert spelt == plain


def test_known_alignments() -> None:
    text = "a (film) unfine"
    assert aligned(wordpiece(), text) == [["a"], ["film"], ["u", "##n", "##f", "##i", "##n", "##e"]]
    assert aligned(byte_bpe(trim=False), text)[:2] == [["a"], ["film"]]
    assert aligned(unigram(), "a film good-film") == [["▁a"], ["▁film"], ["▁good", "-", "film"]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_text_of_a_pair_is_aligned_by_its_own_offsets(kind: str) -> None:
    alone = aligned(TOKENIZERS[kind], "the film was good")
    assert aligned(TOKENIZERS[kind], "good café", "the film was good") == alone


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_cut_away_has_no_tokens(kind: str) -> None:
    found = aligned(TOKENIZERS[kind], "good film " * 40, truncation=True, max_length=10)
    there = [bool(tokens) for tokens in found]
    assert there == sorted(there, reverse=True)
    assert 4 <= sum(there) <= 10


def test_half_a_word_is_not_exact() -> None:
    tokenizer, text = wordpiece(), "the unfine"
    encoded = tokenizer(text, return_offsets_mapping=True, truncation=True, max_length=5)
    found = align(text, split_words(text), encoded["offset_mapping"], encoded.sequence_ids())
    assert found == (WordTokens((1,), True), WordTokens((2, 3), False))


def test_a_token_that_covers_two_words_is_exact_for_neither() -> None:
    words = split_words("a b c")
    found = align("a b c", words, [(0, 3), (3, 5)], [0, 0])
    assert found == (WordTokens((0,), False), WordTokens((0,), False), WordTokens((1,), True))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(text=hostile)
def test_exact_words_are_covered_character_by_character(kind: str, text: str) -> None:
    tokenizer, words = TOKENIZERS[kind], split_words(text)
    encoded = tokenizer(text, return_offsets_mapping=True)
    offsets = encoded["offset_mapping"]
    for word, found in zip(words, align(text, words, offsets, encoded.sequence_ids()), strict=True):
        spans = [offsets[at] for at in found.positions]
        covered = {c for start, end in spans for c in range(start, end) if not text[c].isspace()}
        assert covered & set(range(word.start, word.end)) or not found.positions
        if found.exact:
            assert {min(covered), max(covered) + 1} == {word.start, word.end}


def test_a_slow_tokenizer_is_refused() -> None:
    with pytest.raises(InputError, match="is a slow tokenizer"):
        Substituter(SimpleNamespace(is_fast=False), lexicon_of({}, "none"), Substitutions())
