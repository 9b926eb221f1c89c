"""What an evaluation showed, for a reader: a table for each task, then sentences."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.commands.evaluate_details import details
from holdfast.commands.table import NBSP, table, terminal_width
from holdfast.evaluate.comparing import (
    Group,
    findings,
    grouped,
    is_advglue,
    pooled,
    unmatched,
)
from holdfast.evaluate.trainings import trainings
from holdfast.record import Metric, RunRecord

BELOW = "*"
MAIN = ("accuracy_under_attack", "white_box_accuracy", "accuracy", "official_score")
"""Of these the first that a record has is its headline."""


def shown(records: Sequence[RunRecord], first: str, output: Path) -> str:
    """Return tables, comparisons with the model `first`, notes, and where the records lie."""
    groups = grouped(records)
    parts = [*_main_tables(groups), *_below(groups), *_compared(records, first)]
    parts += [*details(groups), *_notes(groups)]
    return "\n\n".join([*parts, f"records: {output}\nas a page: holdfast report {output}"])


def title_of(record: RunRecord) -> str:
    """Return what a record is about."""
    seed = "" if record.seed is None else f" (seed {record.seed})"
    sample = record.seeds.get("sample")
    task = f"{record.task} (sample {sample})" if sample else record.task
    what = record.attack or ("" if is_advglue(record.task) else "clean")
    return ", ".join(filter(None, (f"{record.model}{seed}", task, what)))


def headline(record: RunRecord) -> str:
    """Return the most telling number of a record."""
    found = next((m for name in MAIN if (m := record.metric(name)) is not None), None)
    if found is None or found.value is None:
        return "nothing could be measured"
    return f"{found.name.replace('_', ' ')} {share_text(found, unit=' %')}"


def share_text(metric: Metric | None, unit: str = "") -> str:
    """Return a share in percent with its interval, marked where it is below the baseline."""
    if metric is None or metric.value is None:
        return "-"
    interval = ""
    if metric.low is not None and metric.high is not None:
        interval = f" ({100 * metric.low:.1f}-{100 * metric.high:.1f})"
    below = BELOW if metric.no_better_than_majority else ""
    return f"{100 * metric.value:.1f}{unit}{interval}{below}"


def _prose(text: str, bullet: str = "") -> str:
    """Return a sentence wrapped to the terminal, in which no number loses its unit."""
    whole = text.replace(" %", f"{NBSP}%").replace("p = ", f"p{NBSP}={NBSP}")
    return textwrap.fill(
        whole,
        terminal_width(),
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(NBSP, " ")


def _main_tables(groups: Sequence[Group]) -> Iterator[str]:
    """Yield a table for each task and sample: a row a model, a column an attack."""
    places = dict.fromkeys((group.task, group.sample) for group in groups)
    samples = {task: sum(place[0] == task for place in places) for task, _ in places}
    for task, sample in places:
        own = [group for group in groups if (group.task, group.sample) == (task, sample)]
        if is_advglue(task):
            continue
        which = f", sample {sample}" if samples[task] > 1 else ""
        yield f"{_heading(task + which, own)}\n{_table(own)}"


def _heading(title: str, groups: Sequence[Group]) -> str:
    """Return the task, how many examples there are, and what knowing nothing would score."""
    records = [record for group in groups for of in group.models.values() for record in of]
    known = {r.attack is None: m for r in records if (m := r.metric("accuracy")) is not None}
    told = [known[clean] for clean in (True, False) if clean in known]
    if not told or told[0].majority is None or told[0].chance is None:
        return title
    fewer = len(told) > 1 and told[1].total != told[0].total
    attacked = f", {told[1].total:,} of them attacked" if fewer else ""
    other = f" ({100 * (told[1].majority or 0):.1f} % of those attacked)" if fewer else ""
    return _prose(
        f"{title}: {told[0].total:,} examples{attacked}. Always answering the most frequent class "
        f"is right in {100 * told[0].majority:.1f} %{other}, guessing in "
        f"{100 * told[0].chance:.1f} %."
    )


def _table(groups: Sequence[Group]) -> str:
    names = list(dict.fromkeys(name for group in groups for name in group.models))
    columns = [group for group in groups if group.attack != "adaptive"]
    columns.sort(key=lambda group: group.attack is not None)
    header = ["model", "seeds", *(f"{group.attack or 'clean'} %" for group in columns)]
    rows = [[name, _seeds(groups, name), *(_main(g, name) for g in columns)] for name in names]
    return table(header, rows)


def _seeds(groups: Sequence[Group], name: str) -> str:
    return str(len(trainings(record for g in groups for record in g.models.get(name, ()))))


def _main(group: Group, name: str) -> str:
    metric = "accuracy" if group.attack is None else "accuracy_under_attack"
    return share_text(pooled(group.models.get(name, ()), metric))


def _below(groups: Sequence[Group]) -> Iterator[str]:
    """Yield what the mark means, where there is one."""
    pooled_ones = (
        pooled(of, name)
        for group in groups
        for of in group.models.values()
        for name in ("accuracy", "accuracy_under_attack", "paired_accuracy")
    )
    if any(metric is not None and metric.no_better_than_majority for metric in pooled_ones):
        yield _prose(
            f"{BELOW} no more than always answering the most frequent class, which no attack can "
            "change: such a figure is no sign of robustness."
        )


def _compared(records: Sequence[RunRecord], first: str) -> Iterator[str]:
    found = findings(records, first)
    if found:
        told = [finding.sentence() for finding in found] + unmatched(records, first)
        yield "\n".join([f"Compared with {first}:", *(_prose(line, "- ") for line in told)])
    elif all(len(trainings(of)) == 1 for g in grouped(records) for of in g.models.values()):
        yield _prose("One training seed only: no spread over seeds can be given.")


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    """Yield what records say of themselves; what several say is said once."""
    told: dict[tuple[str, str], dict[str, None]] = {}
    for group in groups:
        for name, records in group.models.items():
            for note in (note for record in records for note in record.notes):
                told.setdefault((group.title, note), {})[name] = None
    lines = [f"{', '.join(names)}, {title}: {note}" for (title, note), names in told.items()]
    if lines:
        yield "\n".join(["Notes:", *(_prose(line, "- ") for line in lines)])
