"""The smaller tables of an evaluation: attacks, adaptive checks, AdvGLUE, stability, cost."""

from collections.abc import Callable, Iterator, Sequence

from holdfast.commands.table import NBSP, table
from holdfast.evaluate.comparing import Group, is_advglue, pooled
from holdfast.record import Metric, RunRecord, Series

Records = Sequence[RunRecord]
LEVELS = ("", "word", "sentence", "human")


def details(groups: Sequence[Group]) -> Iterator[str]:
    """Yield the tables for which there are numbers."""
    attacked = [g for g in groups if g.attack not in (None, "adaptive")]
    clean = [g for g in groups if g.attack is None and not is_advglue(g.task)]
    yield from _titled("Attacks", ["model", "on", *_ATTACK], attacked, _attack)
    adaptive = [g for g in groups if g.attack == "adaptive"]
    yield from _titled("Adaptive check, accuracy %", ["model", "on", *_WHITE], adaptive, _white)
    yield from _titled("Hidden states moved", ["model", "on", *_MOVED], attacked, _moved)
    for group in groups:
        if group.task.startswith("advglue/"):
            yield from _titled("AdvGLUE", ["model", "on", *_LEVEL], [group], _levels)
    totals = [g for g in groups if g.task == "advglue"]
    yield from _titled("AdvGLUE, six tasks", ["model", "on", *_TOTAL], totals, _total)
    yield from _titled("Cost of one text", ["model", "on", *_COST], clean, _cost)


_ATTACK = ("certified %", "success %", "words", "queries", "similarity")
_WHITE = ("white box", "small genetic", "transferred")
_MOVED = ("attack", "random")
_LEVEL = ("level", "accuracy %", "paired %", "gap", "majority")
_TOTAL = ("plain mean %", "official score %")
_COST = ("parameters", "GFLOPs", "ms", "MiB")


def _titled(
    title: str,
    header: Sequence[str],
    groups: Sequence[Group],
    rows_of: Callable[[Records], Iterator[list[str]]],
) -> Iterator[str]:
    rows = [
        [name, _where(group), *row]
        for group in groups
        for name, records in group.models.items()
        for row in rows_of(records)
    ]
    if rows:
        same = len({row[1] for row in rows}) == 1  # then the title says it
        title = f"{title}: {rows[0][1].replace(NBSP, ' ')}" if same else title
        kept = [at for at in range(len(header)) if _tells(at, rows)]
        shown = [[row[at] for at in kept] for row in rows]
        yield f"{title}\n{table([header[at] for at in kept], shown)}"


def _tells(at: int, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column says anything: a number somewhere, or on what, where that differs."""
    values = {row[at] for row in rows}
    return len(values) > 1 if at == 1 else bool(values - {"-"})


def _where(group: Group) -> str:
    task = group.task.removeprefix("advglue/")
    task = f"{task}{NBSP}(sample{NBSP}{group.sample})" if group.sample else task
    return f"{task},{NBSP}{group.attack}" if group.attack not in (None, "adaptive") else task


def number(metric: Metric | None, form: str, scale: float = 1.0) -> str:
    """Return a number with its interval, or a dash."""
    if metric is None or metric.value is None:
        return "-"
    text = format(scale * metric.value, form)
    if metric.low is None or metric.high is None:
        return text
    return f"{text} ({format(scale * metric.low, form)}-{format(scale * metric.high, form)})"


def _attack(records: Records) -> Iterator[list[str]]:
    yield [
        _percent(pooled(records, "certified_accuracy")),
        number(pooled(records, "success_rate"), ".1f", 100),
        number(pooled(records, "changed_words"), ".1f"),
        number(pooled(records, "queries"), ",.0f"),
        number(pooled(records, "similarity"), ".2f"),
    ]


def _white(records: Records) -> Iterator[list[str]]:
    """Yield what both white-box attacks together leave, and what attacks that only ask do."""
    short = pooled(records, "accuracy_under_attack", "small_genetic")
    transferred = pooled(records, "transfer_accuracy")
    found = (pooled(records, "white_box_accuracy"), short, transferred)
    yield [_percent(metric) for metric in found]


def _moved(records: Records) -> Iterator[list[str]]:
    """Yield how far the last layer moved, mean over the seeds."""
    told = []
    for name in ("moved_attack", "moved_random"):
        lines = [line for record in records for line in record.series if _is(line, name)]
        ends = [line.y[-1] for line in lines]
        told.append(f"{sum(ends) / len(ends):.3f}" if ends else "-")
    if told != ["-", "-"]:
        yield told


def _is(line: Series, name: str) -> bool:
    return (line.name, line.group) == (name, "")


def _levels(records: Records) -> Iterator[list[str]]:
    for level in LEVELS:
        accuracy = pooled(records, "accuracy", level)
        if accuracy is not None and accuracy.value is not None:
            paired = pooled(records, "paired_accuracy", level)
            gap = pooled(records, "robustness_gap", level)
            yield [
                level or "all",
                _percent(accuracy),
                _percent(paired),
                "-" if gap is None or gap.value is None else f"{100 * gap.value:.1f}",
                "-" if accuracy.majority is None else f"{100 * accuracy.majority:.1f}",
            ]


def _percent(metric: Metric | None) -> str:
    below = "*" if metric is not None and metric.no_better_than_majority else ""
    return number(metric, ".1f", 100) + below


def _total(records: Records) -> Iterator[list[str]]:
    yield [_percent(pooled(records, name)) for name in ("plain_mean", "official_score")]


def _cost(records: Records) -> Iterator[list[str]]:
    parameters = pooled(records, "parameters")
    if parameters is not None and parameters.value is not None:
        yield [
            f"{parameters.value / 1e6:.2f}{NBSP}M",
            number(pooled(records, "gflops"), ".2f"),
            number(pooled(records, "latency_ms"), ".1f"),
            number(pooled(records, "memory_mib"), ",.0f"),
        ]
