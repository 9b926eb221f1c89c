"""One token a word, as RIFT was released: what is not in the vocabulary becomes [UNK].

The released code (Dong et al., NeurIPS 2021) replaces WordPiece by a look-up of whole words and
keeps the first piece of each RoBERTa word. Accuracies published with it are below those of the
usual tokens. Its habits are kept, and named where they are; one of its faults is not: there,
each RoBERTa word that splits in two shifts all substitutes after it by a token.
"""

from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.errors import InputError
from holdfast.text.alignment import require_offsets
from holdfast.text.lexicon import Lexicon
from holdfast.text.reading import Candidates, Reading, Texts, check_request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Piece = tuple[int | None, str]
"""A word and the number of the text it is from; None for the separator between two texts."""


class WordLevelReader:
    """Reads texts word by word, each as exactly one id; remembers the ids of each word."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", lexicon: Lexicon, limit: int) -> None:
        require_offsets(tokenizer)  # such a tokenizer also says of which kind it is
        if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
            raise InputError(
                f"Word-level reading needs a first and a separating token, of which "
                f"{type(tokenizer).__name__} lacks one; use the mode aligned."
            )
        self._tokenizer = tokenizer
        self._lexicon = lexicon
        self._limit = limit
        self._id_of = _look_up(tokenizer)
        self._split = nltk_words()
        self._known: dict[str, Candidates] = {}

    def read(self, texts: Texts, max_length: int, moving: Collection[int]) -> Reading:
        """Read `texts`; of a pair only the texts numbered in `moving` get candidates."""
        check_request(texts, self._tokenizer, max_length)
        kept = [list(self._pieces(pair))[: max_length - 2] for pair in texts]
        words = [word for pieces in kept for number, word in pieces if number in moving]
        return Reading(
            self._columns([[self._token(piece) for piece in pieces] for pieces in kept]),
            [[None, *(number for number, _ in pieces), None] for pieces in kept],
            [dict(self._replaceable(pieces, moving)) for pieces in kept],
            sum(any(map(str.isalnum, word)) for word in words),
        )

    def _pieces(self, pair: tuple[str, ...]) -> Iterator[Piece]:
        """Yield a pair as one sequence, cut at its end: the premise is never cut for the rest."""
        for number, text in enumerate(pair):
            if number > 0:
                yield None, ""
            yield from ((number, word) for word in self._split(text.replace("<br />", " ")))

    def _token(self, piece: Piece) -> int:
        number, word = piece
        return self._tokenizer.sep_token_id if number is None else self._candidates(word)[0]

    def _columns(self, tokens: list[list[int]]) -> dict[str, list[list[int]]]:
        first, last = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        ids = [[first, *row, last] for row in tokens]
        columns = {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}
        if "token_type_ids" in self._tokenizer.model_input_names:
            columns["token_type_ids"] = [[0] * len(row) for row in ids]  # for both texts of a pair
        return columns

    def _replaceable(
        self, pieces: list[Piece], moving: Collection[int]
    ) -> Iterator[tuple[int, Candidates]]:
        for position, (number, word) in enumerate(pieces, start=1):
            if number in moving and len(self._candidates(word)) > 1:
                yield position, self._candidates(word)

    def _candidates(self, word: str) -> Candidates:
        if word not in self._known:
            # Looked up as written, so a capitalised word stays; [UNK] may be among the ids.
            substitutes = self._lexicon.neighbours.get(word, ())[: self._limit]
            self._known[word] = tuple(map(self._id_of, (word, *substitutes)))
        return self._known[word]


def _look_up(tokenizer: "PreTrainedTokenizerBase") -> Callable[[str], int]:
    """Return how a word becomes an id with this kind of tokenizer."""
    backend = tokenizer.backend_tokenizer
    kind = type(backend.model).__name__
    if kind == "BPE":
        return lambda word: int(tokenizer.encode(f" {word}", add_special_tokens=False)[0])
    if kind not in ("WordPiece", "WordLevel"):
        raise InputError(
            f"Word-level reading knows WordPiece and BPE vocabularies, not {kind}; use the mode "
            "aligned."
        )
    vocabulary, unknown = tokenizer.get_vocab(), tokenizer.unk_token_id
    normalizer = backend.normalizer
    lowers = normalizer is not None and normalizer.normalize_str("A") == "a"
    # Accents stay, as released, though the usual tokens of an uncased model lose them.
    return lambda word: int(vocabulary.get(word.lower() if lowers else word, unknown))


def nltk_words() -> Callable[[str], list[str]]:
    """Return NLTK's `word_tokenize`, but for its trained list of abbreviations.

    Without that list, which is a download, a sentence may end after `Mr.`; its full stop is then a
    word of its own.
    """
    try:
        punkt = import_module("nltk.tokenize.punkt")
        destructive = import_module("nltk.tokenize.destructive")
    except ImportError as error:
        raise InputError(
            "Word-level reading splits words as NLTK does, which is not installed; run "
            "`pip install nltk`, or use the mode aligned."
        ) from error
    sentences, words = punkt.PunktSentenceTokenizer(), destructive.NLTKWordTokenizer()
    return lambda text: [w for part in sentences.tokenize(text) for w in words.tokenize(part)]
