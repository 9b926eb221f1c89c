"""A section for the README.md of a model on the Hugging Face Hub, from its records."""

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.errors import InputError
from holdfast.record.attacks import named_apart, settings_in, with_settings
from holdfast.record.definitions import METRICS
from holdfast.record.pooling import data_of, pool, training_of
from holdfast.record.run_record import WARNING, Metric, RunRecord

_BEFORE = ("accuracy", "f1", "glue")
"""Measures of the texts as they are, wherever they stand."""
_AFTER = (
    *("accuracy_under_attack", "certified_accuracy", "success_rate"),
    *("white_box_accuracy", "hull_accuracy"),
    *("transfer_accuracy", "paired_accuracy", "robustness_gap", "plain_mean", "official_score"),
)
_SHOWN = _BEFORE + _AFTER
_PARTS = ("validation", "held_out")
"""Groups of a training run, which stand in for an evaluation where there is none."""
_SMALL_GENETIC = "small_genetic"
"""Group of the adaptive check's search by questions alone, which may leave the least of all."""
_MARK = "▼"

_ADVGLUE = "advglue"
_HUB = {
    **{name: ("nyu-mll/glue", name) for name in ("sst2", "qqp", "qnli", "mnli", "rte")},
    "imdb": ("stanfordnlp/imdb", None),
    "snli": ("stanfordnlp/snli", None),
    _ADVGLUE: ("AI-Secure/adv_glue", None),
}
"""Where the Hub keeps a task that is known by name, and under which configuration."""


class _Cell(NamedTuple):
    """What a row of the card is about."""

    task: str
    texts: str
    measure: str
    attack: str | None
    group: str


class _Measured(NamedTuple):
    """A row of the card."""

    cell: _Cell
    metric: Metric
    seeds: int


def model_card_section(records: Iterable[RunRecord]) -> str:
    """Return Markdown for the README.md of a model on the Hub; of several models one after another.

    Each ends with the `model-index` that belongs into the header of that file.
    """
    by_model: dict[str, list[RunRecord]] = defaultdict(list)
    for record in named_apart(records):
        by_model[record.model].append(record)
    if not by_model:
        raise InputError("There are no records to write a model card from; give at least one.")
    return "\n".join(_section(model, found) for model, found in by_model.items())


def _section(model: str, records: Sequence[RunRecord]) -> str:
    evaluated = [record for record in records if record.kind == "evaluation"] or records
    pooled = (_pool(cell, found) for cell, found in _cells(evaluated).items())
    rows = [row for row in pooled if row is not None]
    named = dict.fromkeys(row.cell.measure for row in rows)
    parts = [
        f"## Robustness of {_escape(model)}",
        "How often the model is right on texts as they are, and how often it stays right when an "
        "attack changes them. Intervals are at 95 %; the majority class is what always giving the "
        "most frequent answer scores on the same examples.",
        "\n".join(_table(rows)) if rows else "Nothing was measured yet.",
        "\n>\n".join(f"> {warning}" for warning in _warnings(rows, evaluated)),
        "\n".join(f"- {_words(name)}: {METRICS[name]}." for name in named),
        _provenance(evaluated),
        "For the header of the card, between the two lines `---` at the top of README.md:"
        if rows
        else "",
        "\n".join(["```yaml", *_model_index(model, rows), "```"]) if rows else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(records: Sequence[RunRecord]) -> dict[_Cell, list[RunRecord]]:
    """Gather the records of each row, the tasks in their order; no model counts a text twice."""
    found: dict[_Cell, dict[Any, RunRecord]] = defaultdict(dict)
    plain: set[_Cell] = set()
    for record in sorted(records, key=lambda record: record.attack is not None):
        for cell in [_cell(record, metric) for metric in record.metrics if _shown(record, metric)]:
            if record.attack is None:
                plain.add(cell)
            elif cell in plain:
                continue  # the accuracy before an attack, where it was measured on all texts
            once = cell.measure in _BEFORE  # an attack does not change what was right before it
            seeds = () if once else tuple(sorted(record.seeds.items()))
            run = (training_of(record), data_of(record), seeds)
            found[cell].setdefault(run, record)
    tasks = list(dict.fromkeys(record.task for record in records))
    order = sorted(found, key=lambda cell: tasks.index(cell.task))
    return {cell: list(found[cell].values()) for cell in order}


def _shown(record: RunRecord, metric: Metric) -> bool:
    parts = _PARTS if record.kind == "training" else (_SMALL_GENETIC,)
    whole = metric.group in ("", *parts)
    return metric.name in _SHOWN and whole and metric.value is not None


def _cell(record: RunRecord, metric: Metric) -> _Cell:
    attack = None if metric.name in _BEFORE else record.attack
    texts = f"under {attack}" if attack else "as they are"
    if record.task.partition("/")[0] == _ADVGLUE:
        texts = "of AdvGLUE"
    elif metric.group == _SMALL_GENETIC:
        texts = with_settings("under a small genetic search", settings_in(attack))
    elif metric.group:
        texts = metric.group.replace("_", " ")
    return _Cell(record.task, texts, metric.name, attack, metric.group)


def _pool(cell: _Cell, records: Sequence[RunRecord]) -> _Measured | None:
    found = pool(records, cell.measure, cell.group)
    return None if found is None else _Measured(cell, found.metric, found.trainings)


def _table(rows: Sequence[_Measured]) -> Iterator[str]:
    yield "| Task | Texts | Measure | Value | Interval | Majority class | Examples | Seeds |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for row in rows:
        metric = row.metric
        known = metric.low is not None and metric.high is not None
        cells = (
            _escape(row.cell.task),
            _escape(row.cell.texts),
            _words(row.cell.measure),
            _percent(metric.value) + f" {_MARK}" * row.metric.no_better_than_majority,
            f"{_percent(metric.low)} to {_percent(metric.high)}" if known else "not known",
            "" if metric.majority is None else _percent(metric.majority),
            "" if metric.total is None else str(metric.total),
            str(row.seeds),
        )
        yield f"| {' | '.join(cells)} |"


def _warnings(rows: Sequence[_Measured], records: Sequence[RunRecord]) -> Iterator[str]:
    if any(row.metric.no_better_than_majority for row in rows):
        yield f"**Warning:** {_MARK} is no better than always giving the most frequent answer."
    if any(settings_in(row.cell.attack) for row in rows):
        yield (
            "**Note:** one name stands for several attacks, which had other settings or files; the "
            "start of its checksum tells them apart."
        )
    if rows and max(row.seeds for row in rows) == 1:
        yield "**Note:** of one training seed no spread over seeds can be given."
    notes = dict.fromkeys(note for record in records for note in record.notes)
    for note in notes:
        said = note.removeprefix(WARNING)
        yield f"**{'Note' if said == note else 'Warning'}:** {_escape(said)}"


def _provenance(records: Sequence[RunRecord]) -> str:
    def listed(names: Iterable[Any]) -> str:
        return ", ".join(dict.fromkeys(_escape(str(name)) for name in names if name)) or "unknown"

    environments: list[Mapping[str, Any]] = [record.environment for record in records]
    versions = listed(known.get("holdfast") for known in environments)
    commits = listed(str(known.get("commit") or "")[:12] for known in environments)
    devices = listed(record.device for record in records)
    return f"Measured with Holdfast {versions} (commit {commits}) on {devices}."


def _model_index(model: str, rows: Sequence[_Measured]) -> Iterator[str]:
    """Yield the YAML by which the Hub lists results; a quoted text of JSON is one of YAML too."""
    yield f"model-index:\n- name: {_quote(model)}\n  results:"
    by_task: dict[str, list[_Measured]] = defaultdict(list)
    for row in rows:
        by_task[row.cell.task].append(row)
    for task, own in by_task.items():
        place, config = _on_hub(task)
        yield "  - task:\n      type: text-classification\n    dataset:"
        yield f"      type: {_quote(place)}\n      name: {_quote(task)}"
        if config is not None:
            yield f"      config: {_quote(config)}"
        yield "    metrics:"
        for row in own:
            yield f"    - type: {row.cell.measure}\n      value: {_rounded(row.metric.value)}"
            yield f"      name: {_quote(f'{_words(row.cell.measure)}, texts {row.cell.texts}')}"
            yield f"      args: {_quote(_arguments(row))}"


def _on_hub(task: str) -> tuple[str, str | None]:
    """Return the data set of a task and its configuration; of an unknown task its name."""
    known, _, part = task.partition("/")
    if known == _ADVGLUE and part:
        return _HUB[known][0], "adv_" + part.replace("-mm", "_mismatched")
    return _HUB.get(task, (task, None))


def _arguments(row: _Measured) -> dict[str, Any]:
    """Return how the number was measured, and how sure it is."""
    metric = row.metric
    known = {
        "attack": row.cell.attack,
        "low": _rounded(metric.low),
        "high": _rounded(metric.high),
        "majority_class": _rounded(metric.majority),
        "examples": metric.total,
        "training_seeds": row.seeds,
    }
    return {name: value for name, value in known.items() if value is not None}


def _quote(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:z.1f} %"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _escape(text: str) -> str:
    """Return a name or a sentence as Markdown and HTML show it, on one line."""
    plain = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*\[\]|])", r"\\\1", plain)
