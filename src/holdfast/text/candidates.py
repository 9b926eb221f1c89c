"""The candidates of every token: one table for a whole run, and rows of it beside each text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from holdfast.errors import InputError
from holdfast.text.aligned import AlignedReader
from holdfast.text.lexicon import Lexicon
from holdfast.text.reading import Candidates, Reading, Texts
from holdfast.text.substitutions import Substitutions
from holdfast.text.word_level import WordLevelReader

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FROZEN = 0
"""The row of tokens that have no substitute: padding, special tokens, words not covered."""


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """The ids that may stand for a token; one row for each distinct set of them.

    Slot 0 is the token itself. Row 0 is for tokens that stay: nothing but slot 0 may be used.
    Rows are only ever added, so a later table of the same run serves earlier texts too.
    """

    ids: Tensor
    """(rows, slots) int64; slots that may not be used repeat slot 0."""
    mask: Tensor
    """(rows, slots) bool; which slots may be used."""

    @property
    def slots(self) -> int:
        """Candidates a token has at most, itself included."""
        return self.ids.shape[1]

    def to(self, device: torch.device | str) -> "CandidateTable":
        """Return the table on another device."""
        return CandidateTable(self.ids.to(device), self.mask.to(device))

    def gather(self, rows: Tensor, input_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the candidates and their mask, both (batch, length, slots).

        `rows` and `input_ids` are (batch, length); slot 0 is always that of `input_ids`.
        """
        own = input_ids.unsqueeze(-1)
        return torch.cat([own, self.ids[rows][..., 1:]], dim=-1), self.mask[rows]


@dataclass(frozen=True)
class Coverage:
    """How much of the text can be replaced at all."""

    words: int
    """Words in the texts that may move, those cut away by the length left out."""
    covered: int
    """Those among them that have a substitute in the table."""

    @property
    def share(self) -> float:
        """Share of the words that have a substitute."""
        return self.covered / self.words if self.words else 0.0

    def __str__(self) -> str:
        share = f"{100 * self.share:.1f} %"
        return f"{self.covered:,} of {self.words:,} words ({share}) have a substitute."


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Texts as columns of numbers, one list for each text, and the table their rows point into."""

    columns: dict[str, list[list[int]]]
    """`input_ids`, `attention_mask`, `token_type_ids` where the tokenizer gives them; `movable`, 1
    on the tokens of the text and 0 on special ones; `substitutions`, rows of the table."""
    table: CandidateTable
    """The candidates; a table made later by the same `Substituter` holds these rows too."""
    coverage: Coverage
    """How many of the words have a substitute."""


class Substituter:
    """Tokenises texts and gathers what may stand for their words, in one table for all of them.

    Training and validation texts of a run go through the same one, training first.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        lexicon: Lexicon,
        settings: Substitutions,
    ) -> None:
        self.settings = settings
        self.lexicon = lexicon
        self._tokenizer = tokenizer
        reader = AlignedReader if settings.mode == "aligned" else WordLevelReader
        self._reader: AlignedReader | WordLevelReader = reader(tokenizer, lexicon, settings.limit)
        self._rows: dict[Candidates, int] = {}

    def tokenise(self, texts: Texts, max_length: int) -> TokenisedTexts:
        """Tokenise `texts`, each a tuple of one or two, cut as `EncodedExamples` cuts them."""
        if self.settings.freeze_premise and any(len(pair) != 2 for pair in texts):
            raise InputError("freeze_premise is for pairs of texts; these are single: leave it.")
        moving = (1,) if self.settings.freeze_premise else (0, 1)
        reading = self._reader.read(texts, max_length, moving)
        rows = [self._numbered(reading, example) for example in range(len(texts))]
        if not self._rows:
            raise InputError(
                f"The lexicon covers no word of the data ({self.lexicon.source}); use one of the "
                "language of the texts, or see `holdfast lexicon`."
            )
        columns = reading.columns | {
            "movable": self._movable(reading, moving),
            "substitutions": rows,
        }
        covered = sum(map(len, reading.candidates))
        return TokenisedTexts(columns, self.table(), Coverage(reading.words, covered))

    def table(self) -> CandidateTable:
        """Return the candidates of all texts so far."""
        slots = self.settings.limit + 1
        sets: list[Candidates] = [(0,), *self._rows]
        ids = [[*found, *([found[0]] * (slots - len(found)))] for found in sets]
        mask = [[slot < len(found) for slot in range(slots)] for found in sets]
        return CandidateTable(torch.tensor(ids), torch.tensor(mask))

    def _numbered(self, reading: Reading, example: int) -> list[int]:
        rows = [FROZEN] * len(reading.columns["input_ids"][example])
        for position, candidates in reading.candidates[example].items():
            rows[position] = self._rows.setdefault(candidates, len(self._rows) + 1)
        return rows

    def _movable(self, reading: Reading, moving: Sequence[int]) -> list[list[int]]:
        """Mark the tokens of the texts; one that only spells a special token is none of them."""
        special = set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        pairs = zip(reading.columns["input_ids"], reading.sequences, strict=True)
        return [
            [int(s in moving and i not in special) for i, s in zip(ids, sequences, strict=True)]
            for ids, sequences in pairs
        ]
