"""What both ways of reading a text for substitution give: token ids and what may replace them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Texts = Sequence[tuple[str, ...]]
Candidates = tuple[int, ...]
"""Ids of one token: that of the word in the text, then those of its substitutes."""


@dataclass(frozen=True)
class Reading:
    """Texts as tokens; every list has one entry for each example."""

    columns: dict[str, list[list[int]]]
    """What the model takes: `input_ids`, `attention_mask`, for some `token_type_ids`."""
    sequences: list[list[int | None]]
    """Which text of the pair each token is from; None for the tokenizer's own tokens."""
    candidates: list[dict[int, Candidates]]
    """The candidates at each position that has a substitute."""
    words: int
    """How many words could have had one, cut ones left out."""


def check_request(texts: Texts, tokenizer: "PreTrainedTokenizerBase", max_length: int) -> None:
    """Refuse nothing to read, and lengths that the tokenizer or the model cannot have."""
    if not texts:
        raise InputError("There are no texts to tokenise; pass at least one.")
    pair = len(texts[0]) == 2
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
