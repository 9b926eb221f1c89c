"""Substitution in the model's own tokens: one piece of a word for one piece of another.

A word takes part when it is a single token where it stands, and a substitute when it would be a
single token in that very place, the tokens around it unchanged. The tokenizer itself is asked,
with the characters around the word up to the next white space, because no rule about spaces,
case or punctuation holds for all tokenizers.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.text.alignment import Span, WordTokens, align, require_offsets
from holdfast.text.lexicon import Lexicon
from holdfast.text.reading import Candidates, Reading, Texts, check_request
from holdfast.text.words import Word, like, split_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_LONGEST_CHUNK = 80  # a longer run without white space is no prose; its words stay as they are
_BEFORE = "a"  # stands for the text before a word that is not the first


class Place(NamedTuple):
    """A word among the characters that its tokens can depend on."""

    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word."""
        return self.text[self.start : self.end]

    def with_word(self, substitute: str) -> str:
        """Return the characters with another word in the same place."""
        return self.text[: self.start] + substitute + self.text[self.end :]


class Single(NamedTuple):
    """A word that is one token: of which example, at which position, in which place."""

    example: int
    position: int
    place: Place


class AlignedReader:
    """Reads texts with the model's own tokenizer; remembers the candidates of each place."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", lexicon: Lexicon, limit: int) -> None:
        require_offsets(tokenizer)
        self._tokenizer = tokenizer
        self._lexicon = lexicon
        self._limit = limit
        self._known: dict[Place, Candidates] = {}

    def read(self, texts: Texts, max_length: int, moving: Collection[int]) -> Reading:
        """Tokenise `texts`; of a pair only the texts numbered in `moving` get candidates."""
        check_request(texts, self._tokenizer, max_length)
        encoded = self._encode(texts, max_length)
        offsets: list[list[Span]] = encoded.pop("offset_mapping")
        sequences = [encoded.sequence_ids(example) for example in range(len(texts))]
        words = 0
        singles: list[Single] = []
        for example, pair in enumerate(texts):
            for number in moving:
                if number < len(pair):
                    tokens = (offsets[example], sequences[example], number)
                    count, found = self._singles(example, pair[number], *tokens)
                    words += count
                    singles += found
        columns = dict(encoded.items())
        return Reading(columns, sequences, self._candidates(columns["input_ids"], singles), words)

    def _encode(self, texts: Texts, max_length: int) -> Any:
        columns = [list(column) for column in zip(*texts, strict=True)]
        return self._tokenizer(
            *columns,
            truncation="longest_first",
            max_length=max_length,
            return_offsets_mapping=True,
        )

    def _singles(
        self,
        example: int,
        text: str,
        offsets: Sequence[Span],
        sequence_ids: Sequence[int | None],
        number: int,
    ) -> tuple[int, list[Single]]:
        """Count the words of one text that are there, and find those that may be replaced."""
        words = split_words(text)
        aligned = align(text, words, offsets, sequence_ids, number)
        there = sum(bool(tokens.positions) for tokens in aligned)
        return there, list(self._replaceable(example, text, words, aligned))

    def _replaceable(
        self, example: int, text: str, words: Sequence[Word], aligned: Sequence[WordTokens]
    ) -> Iterator[Single]:
        for word, tokens in zip(words, aligned, strict=True):
            if tokens.exact and len(tokens.positions) == 1 and self._lexicon.of(word.text):
                place = _place(text, word)
                if len(place.text) <= _LONGEST_CHUNK:
                    yield Single(example, tokens.positions[0], place)

    def _candidates(
        self, input_ids: list[list[int]], singles: Sequence[Single]
    ) -> list[dict[int, Candidates]]:
        self._learn({single.place: None for single in singles if single.place not in self._known})
        found: list[dict[int, Candidates]] = [{} for _ in input_ids]
        for example, position, place in singles:
            ids = self._known[place]
            # A tokenizer that looks further than the next white space is caught here.
            if len(ids) > 1 and ids[0] == input_ids[example][position]:
                found[example][position] = ids
        return found

    def _learn(self, places: Collection[Place]) -> None:
        """Ask the tokenizer for the candidates of new places, all in one batch."""
        spelt = {place: self._spellings(place) for place in places}
        questions = dict.fromkeys(
            text for place, words in spelt.items() for text in map(place.with_word, words)
        )
        answers = dict(zip(questions, self._plain_ids(list(questions)), strict=True))
        for place, words in spelt.items():
            ids = [answers[place.with_word(word)] for word in words]
            self._known[place] = self._one_for_one(ids)[: self._limit + 1]

    def _spellings(self, place: Place) -> list[str]:
        substitutes = self._lexicon.of(place.word)
        return [place.word, *(like(place.word, substitute) for substitute in substitutes)]

    def _plain_ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        encoded = self._tokenizer(texts, add_special_tokens=False, return_attention_mask=False)
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _one_for_one(self, versions: Sequence[list[int]]) -> Candidates:
        """Return the ids of the one token in which the versions differ from the first of them.

        A version that differs in more, or in a token that is unknown, is left out.
        """
        original, *others = versions
        candidates: dict[int, None] = {}
        for other in others:
            if len(other) == len(original):
                changed = [pair for pair in zip(original, other, strict=True) if len({*pair}) > 1]
                if len(changed) == 1 and self._tokenizer.unk_token_id not in changed[0]:
                    candidates.update(dict.fromkeys(changed[0]))
        return tuple(candidates)


def _place(text: str, word: Word) -> Place:
    """Return the word with its chunk: the white space before it up to the white space after."""
    start, end = word.start, word.end
    while end < len(text) and not text[end].isspace() and end - start <= _LONGEST_CHUNK:
        end += 1
    while start > 0 and not text[start - 1].isspace() and end - start <= _LONGEST_CHUNK:
        start -= 1
    while start > 0 and text[start - 1].isspace() and end - start <= _LONGEST_CHUNK:
        start -= 1
    before = _BEFORE if start > 0 else ""
    shift = len(before) - start
    return Place(before + text[start:end], word.start + shift, word.end + shift)
