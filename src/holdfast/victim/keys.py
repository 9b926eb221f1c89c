"""Random numbers that tell rows apart: the key of a row is the sum of those of its choices.

Two texts of one example share a key by accident about once in 10^19 pairs (Zobrist hashing).
"""

import numpy as np
from numpy.typing import NDArray

from holdfast.victim.space import Rows

_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def choice_keys(seen: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a key for each (position, choice).

    `seen` (positions, choices) numbers what the victim sees there: equal numbers, equal keys.
    """
    positions = np.arange(len(seen), dtype=np.uint64)[:, None] << np.uint64(32)
    return _mixed(positions + seen.astype(np.uint64))


def row_keys(keys: NDArray[np.uint64], rows: Rows) -> NDArray[np.uint64]:
    """Return the key of each row; a sum that wraps around is as good as any."""
    sums: NDArray[np.uint64] = keys[np.arange(rows.shape[1]), rows].sum(axis=1, dtype=np.uint64)
    return sums


def _mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble numbers (splitmix64; Steele, Lea and Flood, 2014)."""
    number = (number + np.uint64(1)) * _STEP
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))
