"""Two models on the same examples: McNemar's test, exact."""

from holdfast.statistics.marks import require_same_examples


def mcnemar(a: str, b: str) -> float:
    """Return how likely chance alone tips so many examples one way or the other (two-sided p).

    Only examples that one model gets right and the other wrong say anything (McNemar, 1947);
    each of them is a toss of a coin if the models are equally good.
    """
    # Takes half a second, which those who only read records save.
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    require_same_examples("The first model", "the second", [a], [b])
    tipped = [one for one, other in zip(a, b, strict=True) if one != other]
    if not tipped:
        return 1.0
    return float(binomtest(tipped.count("1"), len(tipped)).pvalue)
