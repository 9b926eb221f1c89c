"""Examples as token ids, and batches padded to their longest text."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from holdfast.data.task import Example
from holdfast.errors import InputError

Item = dict[str, list[int] | int]


class EncodedExamples(torch.utils.data.Dataset[Item]):
    """Examples tokenised once, in one batch; of a pair, the longer text is cut first.

    An item holds what the tokenizer gives (`input_ids`, `attention_mask`, for some models
    `token_type_ids`), `movable`, 1 on tokens that are not special, the code `labels`, and `ids`,
    the example's place in `examples`. The model knows neither `movable` nor `ids`: a plain
    `Trainer` drops them, `RobustTrainer` keeps them for its objective.
    """

    def __init__(
        self, examples: Sequence[Example], tokenizer: PreTrainedTokenizerBase, max_length: int
    ) -> None:
        self.examples = tuple(examples)
        self._columns = _tokenise(self.examples, tokenizer, max_length)

    @classmethod
    def from_columns(
        cls, examples: Sequence[Example], columns: Mapping[str, Sequence[list[int]]]
    ) -> "EncodedExamples":
        """Return examples that were tokenised elsewhere: one list of numbers each and column."""
        encoded = cls.__new__(cls)
        encoded.examples, encoded._columns = tuple(examples), dict(columns)
        return encoded

    @property
    def longest(self) -> int:
        """Tokens of the longest example."""
        return max(map(len, self._columns["input_ids"]))

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Item:
        item: Item = {name: column[index] for name, column in self._columns.items()}
        return item | {"labels": self.examples[index].label, "ids": range(len(self))[index]}


def _tokenise(
    examples: Sequence[Example], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, Sequence[list[int]]]:
    if not examples:
        raise InputError("There are no examples to encode; pass at least one.")
    texts = [list(column) for column in zip(*(e.texts for e in examples), strict=True)]
    _check_length(tokenizer, max_length, pair=len(texts) == 2)
    encoded = tokenizer(
        *texts,
        truncation="longest_first",
        max_length=max_length,
        return_special_tokens_mask=True,
    )
    columns = dict(encoded.items())
    special = columns.pop("special_tokens_mask")
    return {**columns, "movable": [[1 - flag for flag in row] for row in special]}


def _check_length(tokenizer: PreTrainedTokenizerBase, max_length: int, *, pair: bool) -> None:
    special = tokenizer.num_special_tokens_to_add(pair=pair)
    least = special + (2 if pair else 1)
    if max_length < least:
        raise InputError(
            f"A length of {max_length} tokens was asked for; {special} of them are special tokens, "
            f"so ask for {least} or more."
        )
    if max_length > tokenizer.model_max_length:
        raise InputError(
            f"A length of {max_length} tokens was asked for; "
            f"the tokenizer says that its model reads at most {tokenizer.model_max_length}."
        )


@dataclass(frozen=True)
class PadBatch:
    """Pad items to the longest of their batch, on the tokenizer's side, as tensors.

    `multiple_of` rounds the width up: 8 suits tensor cores, None pads no more than needed.
    """

    tokenizer: PreTrainedTokenizerBase
    multiple_of: int | None = None
    at_most: int | None = None
    """Width that no text exceeds: rounding up ends there."""

    def __post_init__(self) -> None:
        if self.tokenizer.pad_token_id is None:
            raise InputError(
                "The tokenizer has no padding token; pass the one that "
                "`ensure_padding(tokenizer, model)` returns."
            )
        if self.multiple_of is not None and self.multiple_of < 1:
            raise InputError(f"The width is rounded to {self.multiple_of}; expected 1 or more.")

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Return one tensor a name: sequences (batch, width), numbers (batch,)."""
        return {name: self._stack(name, [item[name] for item in items]) for name in items[0]}

    def _stack(self, name: str, values: Sequence[list[int] | int]) -> Tensor:
        sequences = [value for value in values if isinstance(value, list)]
        return torch.tensor(self._padded(sequences, self._filler(name)) if sequences else values)

    def _padded(self, sequences: Sequence[list[int]], filler: int) -> list[list[int]]:
        multiple = self.multiple_of or 1
        width = -(-max(map(len, sequences)) // multiple) * multiple
        width = width if self.at_most is None else min(width, self.at_most)
        fillings = [[filler] * (width - len(sequence)) for sequence in sequences]
        if self.tokenizer.padding_side == "left":
            return [f + s for f, s in zip(fillings, sequences, strict=True)]
        return [s + f for f, s in zip(fillings, sequences, strict=True)]

    def _filler(self, name: str) -> int:
        """Pad everything but these two with 0, masks above all."""
        if name == "input_ids":
            return int(self.tokenizer.pad_token_id)
        return int(self.tokenizer.pad_token_type_id) if name == "token_type_ids" else 0


def ensure_padding(
    tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
) -> PreTrainedTokenizerBase:
    """Return a tokenizer that can pad, and tell the model its padding token.

    GPT-2, Llama and others have none: a copy pads with the end-of-text token. The model's
    `config.pad_token_id` is set to the tokenizer's, because decoders classify from the last token
    that is not padding.
    """
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            raise InputError(
                "The tokenizer has neither a padding nor an end-of-text token; "
                "set tokenizer.pad_token."
            )
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return tokenizer
