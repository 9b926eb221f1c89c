"""One token a word, as RIFT was released."""

import sys

import pytest
from text_tokenizers import LEXICON, byte_bpe, unigram, wordpiece
from transformers import PreTrainedTokenizerFast

from holdfast.errors import InputError
from holdfast.text import Coverage, Substituter, Substitutions, TokenisedTexts

nltk = pytest.importorskip("nltk", reason="word-level reading splits words as NLTK does")


def read(
    tokenizer: PreTrainedTokenizerFast,
    *texts: tuple[str, ...],
    length: int = 64,
    **settings: object,
) -> TokenisedTexts:
    chosen = Substitutions(mode="word_level", **settings)
    return Substituter(tokenizer, LEXICON, chosen).tokenise(texts, length)


def spelt(tokenizer: PreTrainedTokenizerFast, found: TokenisedTexts) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(found.columns["input_ids"][0]))


def test_each_word_is_one_token_or_unknown() -> None:
    found = read(wordpiece(), ("The unbelievable film, it was good.",))
    expected = "[CLS] the [UNK] film , [UNK] was good . [SEP]"
    assert spelt(wordpiece(), found) == expected
    assert found.columns["attention_mask"] == [[1] * 10]


def test_line_breaks_of_reviews_become_spaces() -> None:
    assert spelt(wordpiece(), read(wordpiece(), ("good<br />film",))) == "[CLS] good film [SEP]"


def test_contractions_are_split_as_nltk_splits_them() -> None:
    found = read(wordpiece(), ("a film wasn't good",))
    assert spelt(wordpiece(), found) == "[CLS] a film was [UNK] good [SEP]"


def test_a_cased_vocabulary_keeps_case_and_accents_stay() -> None:
    cased, lowered = wordpiece(lowercase=False), wordpiece()
    assert spelt(cased, read(cased, ("Film café film",))) == "[CLS] Film café film [SEP]"
    assert spelt(lowered, read(lowered, ("Film café film",))) == "[CLS] film café film [SEP]"


def test_a_pair_is_one_sequence_of_one_type() -> None:
    found = read(wordpiece(), ("the film", "a good movie"))
    assert spelt(wordpiece(), found) == "[CLS] the film [SEP] a good movie [SEP]"
    assert found.columns["token_type_ids"] == [[0] * 8]
    assert found.columns["movable"] == [[0, 1, 1, 0, 1, 1, 1, 0]]


def test_a_long_pair_is_cut_at_its_end() -> None:
    found = read(wordpiece(), ("the film was good", "a good movie"), length=8)
    assert spelt(wordpiece(), found) == "[CLS] the film was good [SEP] a [SEP]"
    assert found.coverage == Coverage(words=5, covered=2)


def test_a_frozen_premise_does_not_move() -> None:
    found = read(wordpiece(), ("the film", "a good movie"), freeze_premise=True)
    assert found.columns["movable"] == [[0, 0, 0, 0, 1, 1, 1, 0]]
    assert found.columns["substitutions"] == [[0, 0, 0, 0, 0, 1, 2, 0]]
    assert found.coverage == Coverage(3, 2)


def test_unknown_substitutes_are_unknown_tokens_as_released() -> None:
    tokenizer = wordpiece()
    found = read(tokenizer, ("film bad",))
    film, bad = (
        tokenizer.convert_ids_to_tokens(found.table.ids[row][found.table.mask[row]].tolist())
        for row in (1, 2)
    )
    assert film == ["film", "movie", "picture", "[UNK]"]
    assert bad == ["bad", "[UNK]"]


def test_capitalised_words_stay_as_released() -> None:
    assert read(wordpiece(), ("Film film",)).columns["substitutions"] == [[0, 0, 1, 0]]


def test_of_a_bpe_word_the_first_piece_is_kept_and_nothing_shifts() -> None:
    tokenizer = byte_bpe(trim=True)
    found = read(tokenizer, ("well-made film good",))
    words = spelt(tokenizer, found).split()
    assert len(words) == 5
    assert words[2:4] == ["Ġfilm", "Ġgood"]
    assert found.columns["substitutions"][0][:2] == [0, 0]
    row = found.columns["substitutions"][0][2]
    assert tokenizer.convert_ids_to_tokens(found.table.ids[row][:3].tolist()) == [
        "Ġfilm",
        "Ġmovie",
        "Ġpicture",
    ]
    assert "token_type_ids" not in found.columns


def test_punctuation_is_no_word_to_cover() -> None:
    assert read(wordpiece(), ("film , . - ( !",)).coverage == Coverage(1, 1)


def test_a_unigram_vocabulary_is_refused() -> None:
    with pytest.raises(InputError, match="not Unigram"):
        read(unigram(), ("film",))


def test_a_tokenizer_without_a_separator_is_refused() -> None:
    tokenizer = wordpiece()
    tokenizer.sep_token = None
    with pytest.raises(InputError, match="use the mode aligned"):
        read(tokenizer, ("film",))


def test_without_nltk_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", None)
    with pytest.raises(InputError, match="pip install nltk"):
        read(wordpiece(), ("film",))
