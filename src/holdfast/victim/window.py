"""How many tokens of a text a model is given: one rule for attacks, evaluations and labels."""

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from holdfast.errors import InputError
from holdfast.implicit.layers import positions

ATTACKED = 512
"""Tokens of a text under attack, where neither the caller nor the training says how many."""
ENDLESS = 2**16
"""Tokens of any other text, where neither model nor tokenizer knows a limit."""


class TooLong(InputError):
    """More tokens were asked for than the model reads; `most` is how many it does."""

    def __init__(self, asked: int, most: int) -> None:
        super().__init__(
            f"A length of {asked} tokens was asked for; the model reads at most {most}."
        )
        self.most = most


def window(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, asked: int | None, otherwise: int
) -> int:
    """Return how many tokens of a text are kept: those `asked` for, or `otherwise` as many.

    These may be more than can be read: texts that were all short are trained on with any number.
    """
    limits = (tokenizer.model_max_length, positions(model))
    most = min(limit for limit in limits if limit is not None)
    if asked is not None and asked > most:
        raise TooLong(asked, most)
    kept = min(otherwise, most) if asked is None else asked
    require_room(tokenizer, kept, parts=1)
    return int(kept)


def require_room(tokenizer: PreTrainedTokenizerBase, kept: int, *, parts: int) -> None:
    """Refuse so few tokens that a text, or one of a pair, would have none."""
    special = tokenizer.num_special_tokens_to_add(pair=parts == 2)
    if kept < special + parts:
        raise InputError(
            f"A length of {kept} tokens was asked for; {special} of them are special tokens, so "
            f"ask for {special + parts} or more."
        )
