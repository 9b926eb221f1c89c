"""The main tables: models as rows, what they were put to as columns, knowing nothing below."""

from collections.abc import Collection, Mapping, Sequence

from holdfast.record import METRICS
from holdfast.report.cells import Cells
from holdfast.report.columns import advglue_columns, base_tasks, heading, task_columns
from holdfast.report.constant import Constant
from holdfast.report.content import Block, Cell, Row, Section, Table
from holdfast.report.numbers import baseline_cell, counted, score_cell
from holdfast.report.scores import Column, Score

_BEST = (
    "Bold: the highest of its column among the models that are not marked. Whether it is better "
    "than the others the comparisons say."
)
_INTERVALS = (
    "Below each number its 95 % interval: Wilson's for one training, else by bootstrap over "
    "examples and trainings ({repeats:,} draws). The line shows the same from 0 to 100; its tick "
    "is the majority class."
)
_SAMPLES = (
    "Where there are several samples of the examples the number is their mean; they may hold the "
    "same examples, so the interval is as wide as that of one of them, and the count is that of "
    "the largest."
)


def results(cells: Cells, constant: Mapping[str, Constant]) -> Section | None:
    """Return the tables of accuracies, one for each task, and AdvGLUE's.

    `constant` are the models that answer one class whatever the text, and what to say of them.
    """
    known = [(task, task_columns(cells, task)) for task in base_tasks(cells.columns)]
    found = [(task, columns) for task, columns in known if columns]
    shown = {column for _, columns in found for column in columns}
    found += [
        (f"AdvGLUE{words}", columns)
        for metric, words in (("accuracy", ""), ("paired_accuracy", ", both texts right"))
        if (columns := advglue_columns(cells, metric)) and not shown.issuperset(columns)
    ]
    tables: list[Block] = [_table(cells, columns, name, constant) for name, columns in found]
    if not tables:
        return None
    lead = (
        "Share of the examples that each model gets right, in percent. The last rows are what "
        "knowing nothing scores on the same examples: a number that is not above them is no "
        "better than not reading the texts. A model whose clean accuracy is near them has "
        "forgotten its task, which on AdvGLUE looks like robustness."
    )
    return Section("results", "Results", lead, tuple(tables))


def _table(
    cells: Cells, columns: Sequence[Column], task: str, constant: Mapping[str, Constant]
) -> Table:
    scores = {column: cells.scores(column) for column in columns}
    models = [m for m in cells.models if any((m, column) in cells.found for column in columns)]
    flags = {
        model: known.words
        for model, known in constant.items()
        if any(known.concerns(cells, column) for column in columns)
    }
    best = {
        column: _best(
            scores[column], {m for m, known in constant.items() if known.concerns(cells, column)}
        )
        for column in columns
    }
    rows = [
        Row(
            _model_cell(
                model, [s[model] for s in scores.values() if model in s], flags.get(model, "")
            ),
            tuple(
                score_cell(scores[c].get(model), c.metric, best=best[c] == model) for c in columns
            ),
        )
        for model in models
    ]
    head = (Cell("model"), *(Cell(heading(c), detail=_examples(scores[c])) for c in columns))
    notes = [*_definitions(columns), _INTERVALS.format(repeats=cells.repeats)]
    several = any(one.several_samples for column in scores.values() for one in column.values())
    notes += [_SAMPLES] if several else []
    notes += [_BEST] if any(best.values()) else []
    caption = f"Accuracy of {counted(len(models), 'model')} on {task}, in percent"
    return Table(caption, head, (*rows, *_baselines(columns, scores)), tuple(notes), title=task)


def _model_cell(model: str, scores: Sequence[Score], flag: str) -> Cell:
    runs = max((score.runs for score in scores), default=1)
    return Cell(model, detail=counted(runs, "training"), flag=flag)


def _best(scores: dict[str, Score], constant: Collection[str]) -> str | None:
    """Return the model with the highest number; none where there is nothing to choose from."""
    fair = {
        model: score.value
        for model, score in scores.items()
        if model not in constant and not score.no_better_than_majority
    }
    return max(fair, key=fair.__getitem__) if len(scores) > 1 and fair else None


def _examples(scores: dict[str, Score]) -> str:
    counts = sorted({score.examples for score in scores.values() if score.examples})
    if not counts:
        return ""
    shown = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{shown} examples"


def _baselines(columns: Sequence[Column], scores: dict[Column, dict[str, Score]]) -> list[Row]:
    rows = []
    for name, text in (("majority", "always the majority class"), ("chance", "at random")):
        known = [[getattr(s, name) for s in scores[c].values()] for c in columns]
        values = [[value for value in some if value is not None] for some in known]
        if any(values):
            cells = tuple(baseline_cell(v, c.metric) for v, c in zip(values, columns, strict=True))
            rows.append(Row(Cell(text, detail="baseline"), cells, "baseline"))
    return rows


def _definitions(columns: Sequence[Column]) -> tuple[str, ...]:
    names = dict.fromkeys(column.metric for column in columns)
    told = [f"{name.replace('_', ' ')}: {METRICS[name]}" for name in names if name in METRICS]
    return (f"{'; '.join(told)}.",) if told else ()
