"""Token ids and padded batches, with a tokenizer built here."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.utils.data import DataLoader
from transformers import (
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from holdfast.data import EncodedExamples, Example, PadBatch, ensure_padding
from holdfast.errors import InputError

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *"abcdefghij"]
SINGLE = [Example("train:0", ("a b c",), 1), Example("train:1", ("d",), 0)]
PAIR = [Example("train:0", ("a b", "c d e f g"), 2), Example("train:1", ("a", "b"), 0)]


KEYS = ["input_ids", "token_type_ids", "attention_mask"]


def bert_like(**options: object) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    settings = {"unk_token": "[UNK]", "pad_token": "[PAD]", "model_input_names": KEYS} | options
    return PreTrainedTokenizerFast(tokenizer_object=backend, **settings)


def gpt_like(**options: object) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", **options)


def batch_of(tokenizer: PreTrainedTokenizerBase, **options: int | None) -> dict[str, torch.Tensor]:
    data = EncodedExamples(SINGLE, tokenizer, 16)
    return PadBatch(tokenizer, **options)([data[0], data[1]])


def test_an_item_holds_the_tokens_the_label_and_its_place() -> None:
    data = EncodedExamples(SINGLE, bert_like(), max_length=16)
    assert len(data) == 2
    assert data[0]["input_ids"] == [1, 4, 5, 6, 2]
    assert data[0]["attention_mask"] == [1] * 5
    assert (data[1]["labels"], data[1]["ids"], data[-1]["ids"]) == (0, 1, 1)


def test_an_item_holds_no_key_that_the_tokenizer_does_not_give() -> None:
    names = ["input_ids", "attention_mask"]
    data = EncodedExamples(SINGLE, bert_like(model_input_names=names), max_length=16)
    assert set(data[0]) == {*names, "movable", "labels", "ids"}


def test_special_tokens_are_not_movable_and_padding_is_not_either() -> None:
    data = EncodedExamples(PAIR, bert_like(), max_length=7)
    assert data[0]["movable"] == [0, 1, 1, 0, 1, 1, 0]
    batch = PadBatch(bert_like())([data[0], data[1]])
    assert batch["movable"].tolist()[1] == [0, 1, 0, 1, 0, 0, 0]


def test_examples_tokenised_elsewhere_are_taken_as_they_are() -> None:
    data = EncodedExamples.from_columns(SINGLE, {"input_ids": [[1, 2], [3, 2]]})
    assert data[1] == {"input_ids": [3, 2], "labels": SINGLE[1].label, "ids": 1}


def test_of_a_pair_the_longer_text_is_cut_first() -> None:
    data = EncodedExamples(PAIR, bert_like(), max_length=7)
    assert data[0]["input_ids"] == [1, 4, 5, 2, 6, 7, 2]
    assert data[0]["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
    assert data[1]["input_ids"] == [1, 4, 2, 5, 2]


def test_a_batch_is_padded_to_its_longest_text() -> None:
    batch = batch_of(bert_like())
    assert batch["input_ids"].tolist() == [[1, 4, 5, 6, 2], [1, 7, 2, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch["labels"].tolist() == [1, 0]
    assert batch["ids"].tolist() == [0, 1]
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_padding_stands_on_the_side_of_the_tokenizer() -> None:
    batch = batch_of(bert_like(padding_side="left"))
    assert batch["input_ids"].tolist() == [[1, 4, 5, 6, 2], [0, 0, 1, 7, 2]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]


def test_padding_agrees_with_the_tokenizers_own() -> None:
    tokenizer = bert_like()
    expected = tokenizer([e.texts[0] for e in SINGLE], padding=True, return_tensors="pt")
    batch = batch_of(tokenizer)
    for name, tensor in expected.items():
        assert torch.equal(batch[name], tensor)


def test_token_types_are_padded_with_the_tokenizers_own_type() -> None:
    tokenizer = bert_like()
    tokenizer._pad_token_type_id = 3  # the way of XLNet's tokenizer
    assert batch_of(tokenizer)["token_type_ids"].tolist()[1] == [0, 0, 0, 3, 3]


@pytest.mark.parametrize(("multiple", "width"), [(1, 5), (4, 8), (5, 5), (8, 8)])
def test_the_width_is_rounded_up(multiple: int, width: int) -> None:
    assert batch_of(bert_like(), multiple_of=multiple)["input_ids"].shape == (2, width)


@pytest.mark.parametrize(
    ("multiple", "most", "width"), [(8, 7, 7), (8, 5, 5), (4, 16, 8), (None, 16, 5), (8, None, 8)]
)
def test_rounding_up_ends_at_the_longest_text_there_can_be(
    multiple: int | None, most: int | None, width: int
) -> None:
    batch = batch_of(bert_like(), multiple_of=multiple, at_most=most)
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, width)
    assert batch["input_ids"][0].tolist() == [1, 4, 5, 6, 2, *[0] * (width - 5)]


def test_a_loader_gives_batches() -> None:
    tokenizer = bert_like()
    loader = DataLoader(
        EncodedExamples(PAIR * 3, tokenizer, 16), batch_size=4, collate_fn=PadBatch(tokenizer)
    )
    assert [batch["ids"].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5]]


def test_no_examples_are_refused() -> None:
    with pytest.raises(InputError, match="no examples"):
        EncodedExamples([], bert_like(), max_length=8)


@pytest.mark.parametrize(
    ("length", "words"), [(2, "so ask for 3 or more"), (0, "3 or more"), (17, "at most 16")]
)
def test_a_length_that_cannot_be_is_refused(length: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        EncodedExamples(SINGLE, bert_like(model_max_length=16), max_length=length)


def test_a_tokenizer_that_cannot_pad_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match="ensure_padding"):
        PadBatch(gpt_like())


def test_a_width_of_no_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="1 or more"):
        PadBatch(bert_like(), multiple_of=0)


def tiny_gpt2() -> GPT2ForSequenceClassification:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=16, n_embd=8, n_layer=1, n_head=2)
    config.eos_token_id = config.bos_token_id = 2
    return GPT2ForSequenceClassification(config).eval()


def test_without_a_padding_token_a_copy_pads_with_the_end_of_text() -> None:
    model, bare = tiny_gpt2(), gpt_like(eos_token="[SEP]")
    tokenizer = ensure_padding(bare, model)
    assert (tokenizer.pad_token_id, model.config.pad_token_id) == (2, 2)
    assert bare.pad_token_id is None


def test_a_decoder_answers_the_same_alone_and_padded() -> None:
    model = tiny_gpt2()
    tokenizer = ensure_padding(gpt_like(eos_token="[SEP]"), model)
    data, pad = EncodedExamples(SINGLE, tokenizer, 16), PadBatch(tokenizer)

    def logits(*items: int) -> torch.Tensor:
        batch = pad([data[item] for item in items])
        del batch["ids"], batch["labels"]
        with torch.no_grad():
            result: torch.Tensor = model(**batch).logits
        return result

    assert torch.allclose(logits(0, 1)[1], logits(1)[0], atol=1e-6)


def test_a_tokenizer_that_pads_is_kept_and_the_model_told() -> None:
    model, tokenizer = tiny_gpt2(), bert_like()
    assert ensure_padding(tokenizer, model) is tokenizer
    assert model.config.pad_token_id == 0


def test_a_tokenizer_without_any_end_of_text_is_refused() -> None:
    with pytest.raises(InputError, match="neither a padding nor an end-of-text token"):
        ensure_padding(gpt_like(), tiny_gpt2())
