"""Substitutes that a masked language model finds likely in the place of a word."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import ModelFolder
from holdfast.errors import InputError
from holdfast.text import Words, align, is_one_word, like

_WORD_MARKS = "Ġ▁"  # with which a token says that a space is before it


@dataclass(frozen=True)
class MaskedWords:
    """Words predicted from the original text, once; a word of several tokens has none.

    The texts are cut to the model's window; words beyond it stay.
    """

    model: ModelFolder
    limit: int = 48
    """Tokens looked at for each word; those that are no word fall away."""
    masked: bool = True
    """Whether the word is hidden from the model while it predicts."""

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"A word was to have {self.limit} substitutes; expected 1 or more.")

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text, the likeliest first."""
        from holdfast.attack.encoding import Gap, likely_tokens  # torch is needed only here

        ids, places = self._read(text)
        hidden = {at: (*ids[:at], self._mask(), *ids[at + 1 :]) for at in places.values()}
        gaps = [Gap(hidden[at] if self.masked else ids, at) for at in places.values()]
        found: list[tuple[str, ...]] = [()] * len(text)
        if gaps:
            likely = likely_tokens(self.model, gaps, self.limit)
            for (number, at), row in zip(places.items(), likely, strict=True):
                found[number] = tuple(self._spelt(text.words[number].text, ids[at], row))
        return found

    def _mask(self) -> int:
        from holdfast.attack.auxiliary import load_auxiliary

        mask = load_auxiliary(self.model, "masked").tokenizer.mask_token_id
        if mask is None:
            raise InputError(
                f"The tokenizer in {self.model.source} has no token that hides a word; give a "
                "masked language model."
            )
        return int(mask)

    def _read(self, text: Words) -> tuple[tuple[int, ...], dict[int, int]]:
        """Return the tokens of a text, and of each word that is one token, where it is."""
        from holdfast.attack.auxiliary import load_auxiliary

        model = load_auxiliary(self.model, "masked")
        encoded = model.tokenizer(
            text.text, truncation=True, max_length=model.max_length, return_offsets_mapping=True
        )
        offsets, sequences = encoded["offset_mapping"], encoded.sequence_ids(0)
        aligned = align(text.text, text.words, offsets, sequences)
        places = {
            number: tokens.positions[0]
            for number, tokens in enumerate(aligned)
            if tokens.exact and len(tokens.positions) == 1
        }
        return tuple(encoded["input_ids"]), places

    def _spelt(self, word: str, own: int, likely: NDArray[np.int64]) -> Iterator[str]:
        """Yield the likely tokens that are words and stand as `own` does, with its space."""
        known = _vocabulary(self.model)
        for token in likely.tolist():
            mark, spelt = known[token]
            if spelt and mark == known[own][0] and spelt.lower() != word.lower():
                yield like(word, spelt)


@lru_cache(maxsize=2)
def _vocabulary(model: ModelFolder) -> tuple[tuple[str, str], ...]:
    """Return for each token its mark of a space and its word; "" if it is none."""
    from holdfast.attack.auxiliary import load_auxiliary

    tokenizer = load_auxiliary(model, "masked").tokenizer
    special = set(tokenizer.all_special_ids)
    found = []
    for number, token in enumerate(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))):
        mark = token[:1] if token[:1] in _WORD_MARKS else ""
        spelt = tokenizer.convert_tokens_to_string([token]).strip()
        whole = number not in special and not token.startswith("##") and is_one_word(spelt)
        found.append((mark, spelt if whole else ""))
    return tuple(found)
