"""Candidates in the model's own tokens, held against the tokenizer itself; tables and coverage."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from text_tokenizers import KINDS, LEXICON, TEXTS, byte_bpe, wordpiece
from tokenizers import Regex, normalizers
from transformers import PreTrainedTokenizerFast

from holdfast.data import EncodedExamples, Example
from holdfast.errors import InputError
from holdfast.record import decode, encode
from holdfast.text import (
    CandidateTable,
    Coverage,
    Substituter,
    Substitutions,
    TokenisedTexts,
    Words,
    align,
    lexicon_of,
    like,
)

TOKENIZERS = {name: make() for name, make in KINDS.items()}
PAIR = ("the film was good", "a good movie")
prose = st.lists(
    st.sampled_from(["film", "Film", "GOOD", "good", "movie", "the", "great", "xq", "é", "bad"]),
    min_size=1,
    max_size=6,
).flatmap(
    lambda words: st.lists(
        st.sampled_from([" ", "  ", ", ", " (", ") ", ".", "-", "'", "\n", "_"]),
        min_size=len(words),
        max_size=len(words),
    ).map(lambda gaps: "".join(word + gap for word, gap in zip(words, gaps, strict=True)))
)


def tokenised(
    tokenizer: PreTrainedTokenizerFast,
    *texts: tuple[str, ...],
    length: int = 64,
    **settings: object,
) -> TokenisedTexts:
    return Substituter(tokenizer, LEXICON, Substitutions(**settings)).tokenise(texts, length)


def candidates(found: TokenisedTexts, example: int = 0) -> dict[int, set[int]]:
    """Return the substitutes at each position that has some."""
    rows = found.columns["substitutions"][example]
    table = found.table
    sets = {
        at: set(table.ids[row][1:][table.mask[row][1:]].tolist()) for at, row in enumerate(rows)
    }
    return {at: ids for at, ids in sets.items() if ids}


def by_hand(tokenizer: PreTrainedTokenizerFast, text: str) -> dict[int, set[int]]:
    """Put every substitute into the text, tokenise it, and see whether one token changed."""
    ids, words, found = tokenizer(text)["input_ids"], Words.of(text), {}
    encoded = tokenizer(text, return_offsets_mapping=True)
    places = align(text, words.words, encoded["offset_mapping"], encoded.sequence_ids())
    for index, (word, place) in enumerate(zip(words.words, places, strict=True)):
        for substitute in LEXICON.of(word.text):
            other = tokenizer(str(words.replaced({index: like(word.text, substitute)})))[
                "input_ids"
            ]
            changed = [at for at, pair in enumerate(zip(ids, other)) if pair[0] != pair[1]]  # noqa: B905
            if len(other) == len(ids) and len(changed) == 1 and changed == list(place.positions):
                at = changed[0]
                if tokenizer.unk_token_id not in (ids[at], other[at]):
                    found.setdefault(at, set()).add(other[at])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_candidate_is_what_the_tokenizer_makes_of_the_substitute(kind: str, text: str) -> None:
    expected = by_hand(TOKENIZERS[kind], text)
    assert expected  # else the test would say nothing
    assert candidates(tokenised(TOKENIZERS[kind], (text,))) == expected


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(text=prose)
def test_any_text_gets_the_candidates_found_by_hand(kind: str, text: str) -> None:
    both = tokenised(TOKENIZERS[kind], (TEXTS[0],), (text,))  # the first is sure to be covered
    assert candidates(both, 1) == by_hand(TOKENIZERS[kind], text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [8, 64])
@pytest.mark.parametrize("texts", [(PAIR,), tuple((text,) for text in TEXTS)])
def test_tokens_are_those_of_ordinary_training(
    kind: str, length: int, texts: tuple[tuple[str, ...], ...]
) -> None:
    found = tokenised(TOKENIZERS[kind], *texts, length=length)
    examples = [Example(f"train:{n}", text, 0) for n, text in enumerate(texts)]
    plain = EncodedExamples(examples, TOKENIZERS[kind], length)
    for n in range(len(texts)):
        shared = {"input_ids", "attention_mask", "token_type_ids"} & set(plain[n])
        assert {name: found.columns[name][n] for name in shared} == {
            name: plain[n][name] for name in shared
        }
    assert all(len(column) == len(texts) for column in found.columns.values())


def test_the_columns_of_one_text() -> None:
    found = tokenised(wordpiece(), ("the film was good",))
    assert found.columns["movable"] == [[0, 1, 1, 1, 1, 0]]
    assert found.columns["substitutions"] == [[0, 0, 1, 0, 2, 0]]
    assert found.columns["token_type_ids"] == [[0] * 6]
    assert found.coverage == Coverage(words=4, covered=2)


def test_case_is_carried_over_into_the_candidates() -> None:
    tokenizer = wordpiece(lowercase=False)
    found = tokenised(tokenizer, ("Film film FILM",))
    spelt = {tokenizer.convert_ids_to_tokens(found.table.ids[row][1].item()) for row in (1, 2, 3)}
    assert spelt == {"Movie", "movie", "MOVIE"}


def test_a_space_before_the_word_is_part_of_the_token_or_not() -> None:
    tokenizer = byte_bpe(trim=True)
    found = tokenised(tokenizer, ("film film",))
    first, second = (found.table.ids[row].tolist()[:3] for row in (1, 2))
    assert tokenizer.convert_ids_to_tokens(first) == ["film", "movie", "picture"]
    assert tokenizer.convert_ids_to_tokens(second) == ["Ġfilm", "Ġmovie", "Ġpicture"]


def test_a_word_that_a_word_before_it_changes_stays() -> None:
    tokenizer = wordpiece(lowercase=False)
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace(Regex("(?<=the )f"), "F")
    found = tokenised(tokenizer, ("the film",), ("a film",))
    assert tokenizer.convert_ids_to_tokens(found.columns["input_ids"][0])[2] == "Film"
    assert found.columns["substitutions"] == [[0, 0, 0, 0], [0, 0, 1, 0]]


def test_of_a_pair_the_premise_can_be_frozen() -> None:
    free, frozen = (tokenised(wordpiece(), PAIR, freeze_premise=flag) for flag in (False, True))
    hypothesis = [0] * 6 + [1] * 3 + [0]
    assert frozen.columns["movable"] == [hypothesis]
    assert set(candidates(frozen)) == {at for at in candidates(free) if hypothesis[at]} == {7, 8}
    assert (free.coverage.words, frozen.coverage) == (7, Coverage(3, 2))


def test_the_premise_of_single_texts_cannot_be_frozen() -> None:
    with pytest.raises(InputError, match="for pairs"):
        tokenised(wordpiece(), ("good",), freeze_premise=True)


def test_a_special_token_that_is_spelt_in_the_text_does_not_move() -> None:
    found = tokenised(wordpiece(), ("good [SEP] film",))
    assert found.columns["movable"] == [[0, 1, 0, 1, 0]]


def test_words_cut_away_are_not_counted() -> None:
    assert tokenised(wordpiece(), ("good film " * 30,), length=7).coverage == Coverage(5, 5)


def test_rows_stay_when_the_table_grows() -> None:
    substituter = Substituter(wordpiece(), LEXICON, Substitutions())
    train = substituter.tokenise([("the film",)], 64)
    validation = substituter.tokenise([("good film",)], 64)
    assert train.columns["substitutions"] == [[0, 0, 1, 0]]
    assert validation.columns["substitutions"] == [[0, 2, 1, 0]]
    assert torch.equal(substituter.table().ids, validation.table.ids)
    assert torch.equal(validation.table.ids[:2], train.table.ids)
    assert torch.equal(validation.table.mask[:2], train.table.mask)


def test_a_word_has_no_more_substitutes_than_the_limit() -> None:
    found = tokenised(wordpiece(), ("the film",), limit=1)
    assert found.table.slots == 2
    assert wordpiece().convert_ids_to_tokens(found.table.ids[1].tolist()) == ["film", "movie"]


def test_gathering_gives_the_text_itself_in_slot_0() -> None:
    table = CandidateTable(
        torch.tensor([[0, 0, 0], [7, 8, 7]]), torch.tensor([[1, 0, 0], [1, 1, 0]]).bool()
    )
    ids, mask = table.gather(torch.tensor([[0, 1], [1, 0]]), torch.tensor([[5, 7], [7, 6]]))
    assert ids.tolist() == [[[5, 0, 0], [7, 8, 7]], [[7, 8, 7], [6, 0, 0]]]
    assert mask.tolist() == [
        [[True, False, False], [True, True, False]],
        [[True, True, False], [True, False, False]],
    ]
    assert (ids.dtype, mask.dtype) == (torch.int64, torch.bool)
    assert table.to("cpu").gather(torch.tensor([[0]]), torch.tensor([[9]]))[0][0, 0, 0] == 9


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_holds_real_tokens_and_row_0_is_frozen(kind: str) -> None:
    table = tokenised(TOKENIZERS[kind], *((text,) for text in TEXTS)).table
    assert table.mask[0].tolist() == [True] + [False] * 8
    assert bool(table.mask[1:, :2].all())
    assert int(table.ids.max()) < len(TOKENIZERS[kind])
    assert len({tuple(row) for row in table.ids[1:].tolist()}) == len(table.ids) - 1


def test_a_lexicon_of_another_language_is_refused() -> None:
    lexicon = lexicon_of({"haus": ["heim"]}, "german.json")
    with pytest.raises(InputError, match="covers no word of the data"):
        Substituter(wordpiece(), lexicon, Substitutions()).tokenise([("the film",)], 64)


@pytest.mark.parametrize(
    ("texts", "length", "words"),
    [([], 8, "no texts"), ([("a",)], 2, "3 or more"), ([("a",)], 65, "at most 64")],
)
def test_a_request_that_cannot_be_met(
    texts: list[tuple[str, ...]], length: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        tokenised(wordpiece(), *texts, length=length)


def test_coverage_is_a_share_and_a_sentence() -> None:
    assert Coverage(0, 0).share == 0.0
    assert str(Coverage(4000, 1000)) == "1,000 of 4,000 words (25.0 %) have a substitute."


@pytest.mark.parametrize(("setting", "value"), [("mode", "letters"), ("limit", 0)])
def test_bad_settings_are_refused(setting: str, value: object) -> None:
    with pytest.raises(InputError, match=r"mode is 'letters'|1 or more"):
        Substitutions(**{setting: value})


def test_settings_are_their_own_configuration() -> None:
    settings = Substitutions(Path("words.json"), "word_level", freeze_premise=True, limit=3)
    assert decode(Substitutions, encode(settings)) == settings


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_texts_are_tokenised(kind: str) -> None:
    texts = [("good film",), ("film" * 3000,), ("\x00\u202e film \u0301",), ("film/" * 500,), ("",)]
    found = tokenised(TOKENIZERS[kind], *texts)
    assert len(found.columns["input_ids"]) == 5
    assert 1 in candidates(found) or 0 in candidates(found)
