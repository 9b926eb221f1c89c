"""Numbers as a reader likes them: percent with one digit, intervals, millions."""

from collections.abc import Sequence

from holdfast.report.content import Cell, Spark
from holdfast.report.scores import SHARES, Score

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
NOTHING = Cell("\N{EM DASH}", detail="not measured")
NO_BETTER = "no better than majority"
"""The mark of a number that always answering the most frequent class would reach."""


def percent(value: float) -> str:
    """Return a share in percent with one digit, without its sign."""
    return f"{100 * value:.1f}".replace("-", MINUS)


def plain(value: float) -> str:
    """Return any number with four digits that count, thousands apart."""
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}".replace("-", MINUS)
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.1f} M"
    shown = f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    return shown.replace("-", MINUS)


def metric_value(name: str, value: float) -> str:
    """Return the value of a metric as it is usually given."""
    return percent(value) if name in SHARES else plain(value)


def interval(low: float | None, high: float | None, name: str = "accuracy") -> str:
    """Return the two ends, or nothing where there are none."""
    if low is None or high is None:
        return ""
    return f"{metric_value(name, low)} to {metric_value(name, high)}"


def score_cell(score: Score | None, name: str, *, best: bool = False) -> Cell:
    """Return the cell of a score: the number, its interval, and the mark it may have earned."""
    if score is None:
        return NOTHING
    spark = None
    if name in SHARES and 0 <= score.value <= 1:
        spark = Spark(score.value, score.low, score.high, score.majority)
    return Cell(
        metric_value(name, score.value),
        detail=interval(score.low, score.high, name) or "no interval",
        flag=NO_BETTER if score.no_better_than_majority else "",
        best=best,
        spark=spark,
    )


def baseline_cell(values: Sequence[float], name: str) -> Cell:
    """Return what knowing nothing scores; a range where models saw other examples."""
    shown = dict.fromkeys(metric_value(name, value) for value in sorted(values))
    return Cell(" to ".join([*shown][:: max(1, len(shown) - 1)]) or "\N{EM DASH}")


def sentence(text: str) -> str:
    """Return a definition as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def counted(count: int, noun: str, many: str = "") -> str:
    """Return `3 models`, `1 model`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def joined(names: list[str], most: int = 6) -> str:
    """Return names as a sentence lists them; of many the first."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
