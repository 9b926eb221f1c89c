"""Which tokens make up which word, from the character offsets that a fast tokenizer gives.

Offsets differ between tokenizers: byte-level BPE may count the space before a word as part of
its token (GPT-2) or not (RoBERTa), SentencePiece gives the space a token of its own or not. So
white space at the ends of a token is not looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import InputError
from holdfast.text.words import Word

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Span = tuple[int, int]


class WordTokens(NamedTuple):
    """The tokens of one word."""

    positions: tuple[int, ...]
    """Where in the sequence they stand; empty if the word was cut away."""
    exact: bool
    """Whether they cover the whole word and nothing besides."""


_CUT_AWAY = WordTokens((), False)


def require_offsets(tokenizer: "PreTrainedTokenizerBase") -> None:
    """Refuse a tokenizer that cannot say which characters a token stands for."""
    if not tokenizer.is_fast:
        raise InputError(
            f"{type(tokenizer).__name__} is a slow tokenizer and does not say which characters a "
            "token stands for; load the fast one (AutoTokenizer.from_pretrained does)."
        )


def align(
    text: str,
    words: Sequence[Word],
    offsets: Sequence[Span],
    sequence_ids: Sequence[int | None],
    sequence: int = 0,
) -> tuple[WordTokens, ...]:
    """Return the tokens of each of `words`, which are those of text number `sequence` of a pair.

    `offsets` and `sequence_ids` are the tokenizer's, for the whole sequence of tokens.
    """
    spans = dict(_trimmed(text, offsets, sequence_ids, sequence))
    found: list[list[int]] = [[] for _ in words]
    first = 0  # the first word that a coming token can touch
    for position, (start, end) in spans.items():
        while first < len(words) and words[first].end <= start:
            first += 1
        word = first
        while word < len(words) and words[word].start < end:
            found[word].append(position)
            word += 1
    return tuple(_tokens(word, at, spans) for word, at in zip(words, found, strict=True))


def _trimmed(
    text: str, offsets: Sequence[Span], sequence_ids: Sequence[int | None], sequence: int
) -> Iterator[tuple[int, Span]]:
    """Yield position and span of each token of one text; those of white space only are none."""
    for position, (start, end) in enumerate(offsets):
        if sequence_ids[position] == sequence:
            while start < end and text[start].isspace():
                start += 1
            while start < end and text[end - 1].isspace():
                end -= 1
            if start < end:
                yield position, (start, end)


def _tokens(word: Word, positions: Sequence[int], spans: Mapping[int, Span]) -> WordTokens:
    if not positions:
        return _CUT_AWAY
    covered = spans[positions[0]][0], spans[positions[-1]][1]
    return WordTokens(tuple(positions), covered == (word.start, word.end))
