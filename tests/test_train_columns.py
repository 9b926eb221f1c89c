"""Which tokens a dataset of one's own lets an adversary move."""

import pytest
import torch
import train_tiny as tiny

from holdfast.data import EncodedExamples, Example, PadBatch
from holdfast.train.columns import mark_movable

TEXTS = ["the zebra was fine", "a film"]


def test_an_unknown_word_moves_as_in_encoded_examples() -> None:
    tokenizer = tiny.tokenizer()
    given = tokenizer(TEXTS, padding=True, return_tensors="pt")
    assert (given["input_ids"] == tokenizer.unk_token_id).any()
    data = EncodedExamples([Example(t, (t,), 0) for t in TEXTS], tokenizer, 16)
    expected = PadBatch(tokenizer)([data[0], data[1]])["movable"]
    assert torch.equal(mark_movable(dict(given), tokenizer)["movable"], expected)


@pytest.mark.parametrize("role", ["pad", "cls", "sep", "bos", "eos"])
def test_a_token_that_is_also_something_else_stays(role: str) -> None:
    tokenizer = tiny.tokenizer()
    setattr(tokenizer, f"{role}_token", "[UNK]")  # as GPT-2's is its end of text
    ids = torch.tensor([[tokenizer.unk_token_id, *tokenizer.convert_tokens_to_ids(["film"])]])
    assert mark_movable({"input_ids": ids}, tokenizer)["movable"].tolist() == [[0, 1]]
