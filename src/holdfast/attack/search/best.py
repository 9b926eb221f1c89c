"""The best of each group in one array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.goal import Floats


def best_of_each(values: Floats, groups: NDArray[Any]) -> NDArray[np.int64]:
    """Return where the highest value of each group stands; of equal ones the first.

    `groups` names the group of each value, in ascending order.
    """
    order = np.lexsort((-values, groups))  # stable: the first of equal values stays first
    first = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    best: NDArray[np.int64] = order[first]
    return best
