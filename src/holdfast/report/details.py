"""Tables beside the main one: what attacks did, and what models cost."""

from holdfast.record import METRICS
from holdfast.report.cells import Cells
from holdfast.report.content import Block, Cell, Row, Section, Table
from holdfast.report.numbers import counted, interval, metric_value
from holdfast.report.scores import Column

ATTACK = ("success_rate", "changed_words", "changed_share", "queries", "similarity")
COST = {
    "parameters": "parameters",
    "gflops": "GFLOPs",
    "latency_ms": "latency, ms",
    "memory_mib": "memory, MiB",
}


def attacks(cells: Cells) -> Section | None:
    """Return what each attack needed to fool each model."""
    keys = dict.fromkeys(
        (c.task, c.attack) for c in cells.columns if c.metric in ATTACK and c.attack
    )
    tables: list[Block] = []
    for task, attack in keys:
        columns = [Column(task, attack, metric) for metric in ATTACK]
        if table := _table(cells, columns, f"{task} under {attack}", METRICS):
            tables.append(table)
    if not tables:
        return None
    lead = "What it takes to fool each model. Shares are in percent, the rest are means."
    return Section("attacks", "What the attacks did", lead, tuple(tables))


def cost(cells: Cells) -> Section | None:
    """Return what each model costs."""
    tables: list[Block] = []
    for task in dict.fromkeys(c.task for c in cells.columns if c.metric in COST):
        columns = [c for c in cells.columns if c.task == task and c.metric in COST]
        columns.sort(key=lambda column: list(COST).index(column.metric))
        if table := _table(cells, columns, f"Cost on {task}", METRICS):
            tables.append(table)
    if not tables:
        return None
    lead = "What one text costs each model; the solves of implicit connections are included."
    return Section("cost", "Cost", lead, tuple(tables))


def _table(
    cells: Cells, columns: list[Column], title: str, definitions: dict[str, str]
) -> Table | None:
    scores = {column: cells.scores(column) for column in dict.fromkeys(columns)}
    scores = {column: found for column, found in scores.items() if found}
    models = [m for m in cells.models if any(m in found for found in scores.values())]
    if not models:
        return None
    rows = []
    for model in models:
        found = [(column.metric, values.get(model)) for column, values in scores.items()]
        texts = tuple(
            Cell("\N{EM DASH}")
            if one is None
            else Cell(metric_value(name, one.value), detail=interval(one.low, one.high, name))
            for name, one in found
        )
        rows.append(Row(Cell(model), texts))
    names = [COST.get(column.metric, column.metric.replace("_", " ")) for column in scores]
    known = [c.metric for c in scores if c.metric in definitions]
    notes = tuple(f"{name.replace('_', ' ')}: {definitions[name]}." for name in known)
    caption = f"{title}, {counted(len(models), 'model')}"
    return Table(caption, (Cell("model"), *map(Cell, names)), tuple(rows), notes, title=title)
