"""One way to read texts: how their words are written, and which tokens they are to a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.text import CanonicalMap, Words
from holdfast.victim.function import all_different
from holdfast.victim.keys import choice_keys
from holdfast.victim.pieces import Pieces
from holdfast.victim.reading import TokenReading
from holdfast.victim.space import Rows, Space
from holdfast.victim.splice import Spans, SplicedSpace, slots, splice, spliced_space, trial_row
from holdfast.victim.victim import Opened, Reading
from holdfast.victim.vocabulary import Speller, Vocabulary
from holdfast.victim.word_level import WordLevel


@dataclass(frozen=True, eq=False)
class WholeTexts:
    """A space whose queries are tokenised as whole texts."""

    space: Space
    keys: NDArray[np.uint64]


class Reader:
    """Texts to tokens: those of whole texts, and those of queries, spliced where that is true."""

    def __init__(
        self, texts: Pieces | WordLevel, canonical: CanonicalMap | None, max_length: int
    ) -> None:
        self._texts, self._max_length = texts, max_length
        self._spell = Speller(canonical, texts.hidden)
        self._vocabulary = Vocabulary(texts.ids, self._spell)

    def read(self, texts: Sequence[tuple[Words, ...]]) -> list[TokenReading]:
        """Return how the model reads each example."""
        written = [tuple(self._spell.words(words) for words in of) for of in texts]
        return self._texts.read(written)

    def open(self, readings: Sequence[Reading], spaces: Sequence[Space]) -> list[Opened]:
        """Make spaces ready; what cannot be spliced truly is tokenised as whole texts."""
        own = [reading for reading in readings if isinstance(reading, TokenReading)]
        tables = self._tables(list(zip(own, spaces, strict=True)))
        true = self._agree([table for table in tables if table is not None])
        return [
            table if table is not None and id(table) in true else self._whole(space)
            for table, space in zip(tables, spaces, strict=True)
        ]

    def tokenise(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the tokens of whole texts, cut to the window, with their types."""
        return self._texts.tokenise([tuple(map(self._spell.text, of)) for of in texts])

    def tokenise_rows(self, space: Space, rows: Rows) -> list[list[int]]:
        """Return the tokens of queries that cannot be spliced."""
        return self.tokenise([self._spelt(space, row) for row in rows])

    def forms(self, space: Space) -> WholeTexts:
        """Return a space whose queries are never spliced; choices written alike have equal keys.

        What is to be proved of a text does not rest on how its tokens are put together.
        """
        seen = np.zeros((len(space), int(space.sizes.max(initial=1)) + 2), dtype=np.int64)
        for at, choices in enumerate(space.choices):
            numbers: dict[str, int] = {}
            written = map(self._spell, choices)
            seen[at, : len(choices)] = [numbers.setdefault(one, len(numbers)) for one in written]
        return WholeTexts(space, choice_keys(seen))

    def _tables(self, pairs: Sequence[tuple[TokenReading, Space]]) -> list[SplicedSpace | None]:
        spans = [self._texts.spans(*pair) for pair in pairs]
        jobs = [
            (*pair, span, self._spell.hidden(pair[1]))
            for pair, span in zip(pairs, spans, strict=True)
            if span is not None
        ]
        self._vocabulary.learn(
            slot
            for reading, space, span, hidden in jobs
            for slot in slots(reading, space, span, hidden)
        )
        made = map(self._table, jobs)
        return [None if span is None else next(made) for span in spans]

    def _table(self, job: tuple[TokenReading, Space, Spans, str]) -> SplicedSpace | None:
        reading, space, spans, hidden = job
        whole = self._texts.whole(reading, space, self._spell, hidden)
        known = (self._vocabulary, hidden, self._max_length)
        longest = self._texts.longest(reading)
        return spliced_space(reading, space, spans, *known, whole, longest)

    def _whole(self, space: Space) -> WholeTexts:
        return WholeTexts(space, all_different(space))

    def _agree(self, tables: Sequence[SplicedSpace]) -> set[int]:
        """Return those whose trial text comes out as the tokenizer makes it."""
        if not tables:
            return set()
        rows = [trial_row(table) for table in tables]
        flat, lengths = splice([(t, row[None]) for t, row in zip(tables, rows, strict=True)])
        spliced = np.split(flat, np.cumsum(lengths)[:-1])
        texts = [self._spelt(t.space, row) for t, row in zip(tables, rows, strict=True)]
        checked = zip(tables, spliced, self.tokenise(texts), strict=True)
        return {id(t) for t, ids, true in checked if self._cut(ids, t.tail) == true}

    def _cut(self, ids: NDArray[np.int32], tail: int) -> list[int]:
        found: list[int] = ids.tolist()
        most = self._max_length
        return found if len(found) <= most else found[: most - tail] + found[len(found) - tail :]

    def _spelt(self, space: Space, row: NDArray[np.int16]) -> tuple[str, ...]:
        return space.spelt(row, self._spell.hidden(space))
