"""Many tests at once: Holm's correction."""

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number, in the same order (Holm, 1979).

    The chance that any true null hypothesis is rejected stays below the level that is chosen.
    """
    corrected, least = [0.0] * len(p), 0.0
    for rank, at in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = max(least, min(1.0, (len(p) - rank) * p[at]))
        corrected[at] = least
    return corrected
