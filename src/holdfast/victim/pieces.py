"""Texts in the pieces of a model's own tokenizer."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.text import Word, Words
from holdfast.victim.glue import Glue
from holdfast.victim.leads import align_with_space
from holdfast.victim.reading import TYPE_SHIFT, TokenReading, read_texts
from holdfast.victim.space import Space
from holdfast.victim.splice import Spans, token_spans
from holdfast.victim.vocabulary import Ids
from holdfast.victim.window import require_room

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BEFORE = "a"  # stands for the text before a word that is not the first


class Pieces:
    """Asks a tokenizer for the tokens of texts and of words."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", max_length: int) -> None:
        self._tokenizer, self._max_length = tokenizer, max_length
        typed = "token_type_ids" in tokenizer.model_input_names
        # a few tokenizers give special tokens a type of their own
        alone = typed and any(tokenizer(_BEFORE)["token_type_ids"])
        self._typed = {1: alone, 2: typed}
        self._glue = Glue.of(tokenizer)

    @property
    def hidden(self) -> str | None:
        """The word that the tokenizer takes for unknown; none: it has none."""
        word: Any = self._tokenizer.unk_token
        return None if word is None else str(word)

    def read(self, texts: Sequence[tuple[Words, ...]]) -> list[TokenReading]:
        """Return how examples are read, with the tokens of each word."""
        return read_texts(texts, self._tokenizer, self._max_length)

    def tokenise(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the tokens of whole texts, cut to the window, with their types."""
        columns = [list(column) for column in zip(*texts, strict=True)]
        require_room(self._tokenizer, self._max_length, parts=len(columns))
        encoded = self._tokenizer(*columns, truncation="longest_first", max_length=self._max_length)
        ids: list[list[int]] = encoded["input_ids"]
        if not self._typed[len(columns)]:
            return ids
        types = encoded["token_type_ids"]
        return [
            [i | (kind << TYPE_SHIFT) for i, kind in zip(*row, strict=True)]
            for row in zip(ids, types, strict=True)
        ]

    def ids(self, words: Sequence[tuple[str, str]]) -> list[Ids | None]:
        """Return the tokens of words behind a character; None where they share them with it."""
        befores = [_BEFORE + left if left else "" for left, _ in words]
        texts = [before + word for before, (_, word) in zip(befores, words, strict=True)]
        found: list[Ids | None] = []
        for text, before, (_, spelt), (ids, offsets) in zip(
            texts, befores, words, self._encoded(texts), strict=True
        ):
            word = Word(spelt, len(before), len(text))
            (tokens,) = align_with_space(text, [word], offsets, [0] * len(ids))
            found.append(tuple(ids[at] for at in tokens.positions) if tokens.exact else None)
        return found

    def _encoded(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """Yield ids and spans without special tokens, past the layer that makes lists of lists."""
        backend: Any = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None or backend.padding is not None or backend.truncation is not None:
            found = self._tokenizer(
                list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            yield from zip(found["input_ids"], found["offset_mapping"], strict=True)
            return
        for one in backend.encode_batch(list(texts), add_special_tokens=False):
            yield one.ids, one.offsets

    def spans(self, reading: TokenReading, space: Space) -> Spans | None:
        """Return the tokens of each position; None if some have none of their own."""
        known = reading.aligned and self._glue.exchanges
        return token_spans(reading, space) if known else None

    def whole(
        self, reading: TokenReading, space: Space, spell: Callable[[str], str], hidden: str
    ) -> NDArray[np.bool_] | None:
        """Return (positions, choices) that are read with what is around; none: no choice."""
        return self._glue.holds(reading.words, space, spell, hidden)

    def longest(self, reading: TokenReading) -> int | None:
        """Return how many tokens of a text can be spliced: which of a pair is cut, both decide."""
        return self._max_length if len(reading.words) > 1 else None
