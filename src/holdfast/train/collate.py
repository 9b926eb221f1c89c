"""Batches whose words have substitutes: padded as others are, with the candidates gathered."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from holdfast.adversary.batch import CANDIDATE_MASK, CANDIDATES
from holdfast.data import Item, PadBatch
from holdfast.text import CandidateTable


@dataclass(frozen=True)
class CandidateBatch:
    """Pads items and turns their `substitutions`, rows of the table, into candidates."""

    pad: PadBatch
    table: CandidateTable

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Return the padded batch; padding is row 0, which has no substitutes."""
        batch = self.pad(items)
        rows = batch.pop("substitutions")
        candidates, mask = self.table.gather(rows, batch["input_ids"])
        return {**batch, CANDIDATES: candidates, CANDIDATE_MASK: mask}
