"""A text as a model reads it: its tokens, those of each word, and how many words are read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.text import Words, WordTokens
from holdfast.victim.leads import align_with_space

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TYPE_SHIFT = 24
"""A token carries its type (which text of a pair) above its id: both travel as one number."""
ID_MASK = (1 << TYPE_SHIFT) - 1


@dataclass(frozen=True, eq=False)
class TokenReading:
    """One example as tokens."""

    visible: tuple[int, ...]
    """How many words of each text the model reads."""
    words: tuple[Words, ...]
    """The texts as they are tokenised: in canonical form, where the victim has one."""
    tokens: tuple[int, ...] = ()
    """All tokens with their types, those beyond the window too if they may come into it."""
    aligned: tuple[tuple[WordTokens, ...], ...] = ()
    """The tokens of each word; empty if queries have to be tokenised as whole texts."""
    tail: int = 0
    """Special tokens at the end, which stay when a text is cut."""


def read_texts(
    texts: Sequence[tuple[Words, ...]], tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> list[TokenReading]:
    """Tokenise examples; all of them are single texts, or all are pairs."""
    if not texts:
        return []
    if not tokenizer.is_fast:
        return [TokenReading(tuple(min(len(w), max_length) for w in of), of) for of in texts]
    columns = [[words.text for words in column] for column in zip(*texts, strict=True)]
    encoded = tokenizer(*columns, return_offsets_mapping=True, verbose=False)
    readings = [_reading(of, encoded, at, max_length) for at, of in enumerate(texts)]
    if tokenizer.truncation_side == "left":  # where a text is long its first words are not read
        return [replace(of, visible=tuple(map(len, of.words)), aligned=()) for of in readings]
    cut = [at for at, of in enumerate(readings) if len(of.tokens) > max_length and len(columns) > 1]
    for at in cut:
        readings[at] = _cut_pair(texts[at], tokenizer, max_length)
    return readings


def _reading(of: tuple[Words, ...], encoded: Any, at: int, max_length: int) -> TokenReading:
    aligned, sequences = _aligned(of, encoded, at)
    tail = next((n for n, text in enumerate(reversed(sequences)) if text is not None), 0)
    limit = max_length - tail
    ids = encoded["input_ids"][at]
    types = encoded["token_type_ids"][at] if "token_type_ids" in encoded else [0] * len(ids)
    tokens = tuple(i | (kind << TYPE_SHIFT) for i, kind in zip(ids, types, strict=True))
    return TokenReading(
        tuple(_read_of(words, limit) for words in aligned), of, tokens, aligned, tail
    )


def _cut_pair(
    of: tuple[Words, ...], tokenizer: "PreTrainedTokenizerBase", max_length: int
) -> TokenReading:
    """Read a pair that is too long: which text loses a token depends on the lengths of both."""
    encoded = tokenizer(
        *([words.text] for words in of),
        truncation="longest_first",
        max_length=max_length,
        return_offsets_mapping=True,
    )
    aligned, _ = _aligned(of, encoded, 0)
    return TokenReading(tuple(_read_of(words, max_length) for words in aligned), of)


def _aligned(
    of: tuple[Words, ...], encoded: Any, at: int
) -> tuple[tuple[tuple[WordTokens, ...], ...], list[int | None]]:
    sequences = encoded.sequence_ids(at)
    offsets = encoded["offset_mapping"][at]
    aligned = tuple(
        align_with_space(words.text, words.words, offsets, sequences, number)
        for number, words in enumerate(of)
    )
    return aligned, sequences


def _read_of(words: Sequence[WordTokens], limit: int) -> int:
    """Count the words up to the last one that begins before the limit."""
    begun = (at + 1 for at, w in enumerate(words) if w.positions and w.positions[0] < limit)
    return max(begun, default=0)
