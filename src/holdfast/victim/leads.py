"""The space before a word belongs to it: many tokenizers write both as one token, or as two."""

from collections.abc import Sequence

from holdfast.text import Word, WordTokens, align

Span = tuple[int, int]


def align_with_space(
    text: str,
    words: Sequence[Word],
    offsets: Sequence[Span],
    sequence_ids: Sequence[int | None],
    sequence: int = 0,
) -> tuple[WordTokens, ...]:
    """Return the tokens of each word, a token of its own for the space before it included."""
    aligned = align(text, words, offsets, sequence_ids, sequence)
    return tuple(
        WordTokens(
            (*_lead(text, word, tokens, offsets, sequence_ids), *tokens.positions), tokens.exact
        )
        if tokens.positions
        else tokens
        for word, tokens in zip(words, aligned, strict=True)
    )


def _lead(
    text: str,
    word: Word,
    tokens: WordTokens,
    offsets: Sequence[Span],
    sequence_ids: Sequence[int | None],
) -> range:
    first = at = tokens.positions[0]
    while at > 0 and sequence_ids[at - 1] is not None:
        start, end = offsets[at - 1]
        # tokenizers that trim their offsets leave nothing of a space, but say where it was
        if not word.start - 1 <= start <= end <= word.start or text[start:end].strip():
            break
        at -= 1
    return range(at, first)
