"""Which differences are more than chance, in sentences; only what saw the same examples."""

from collections.abc import Sequence

from holdfast.report.cells import Cells
from holdfast.report.columns import full_heading
from holdfast.report.content import Block, Finding, Findings, Reach, Section
from holdfast.report.encoders import without_encoder
from holdfast.report.numbers import joined
from holdfast.report.scores import Column
from holdfast.statistics import Comparison, compare_all

UNFOLDED = 6  # columns that are shown at once; the others when asked
FEW = 5  # findings of a column that are shown even if chance might have made them
PLAIN = ("plain", "standard", "baseline", "bert", "roberta")
"""Names that a model has which nothing was done to, the likeliest first."""


def reference_model(models: Sequence[str], asked: str | None = None) -> str | None:
    """Return the model the others are compared with: as asked, else a plain one, else the first."""
    if asked in models:
        return asked
    lower = {without_encoder(model).lower(): model for model in reversed(models)}
    named = (lower[name] for name in PLAIN if name in lower)
    return next(named, models[0] if models else None)


def comparisons(cells: Cells, columns: Sequence[Column], against: str | None) -> Section | None:
    """Return, for each column, how every model compares with `against`."""
    if against is None or len(cells.models) < 2:
        return None
    found = [(column, _findings(cells, column, against)) for column in columns]
    told = [(column, findings) for column, findings in found if findings]
    if not told:
        return None
    blocks: list[Block] = [
        _block(full_heading(column), findings, folded=number >= UNFOLDED)
        for number, (column, findings) in enumerate(told)
    ]
    lead = (
        f"Every model against {against}, example by example; right of the middle of the drawing "
        f"is better than {against}. Intervals are by paired bootstrap; p is McNemar's exact one "
        "where both have one training, else Student's, with the spread of that bootstrap. The p "
        "of one column are corrected together (Holm); those of `holdfast evaluate` over all its "
        "columns at once, so they are larger."
    )
    return Section("comparisons", "Which differences are more than chance", lead, tuple(blocks))


def _block(title: str, findings: Sequence[Finding], *, folded: bool) -> Findings:
    """Show what is more than chance; the rest too where it is little."""
    strong = [one for one in findings if one.strong]
    quiet = [one for one in findings if not one.strong]
    if len(findings) <= FEW:
        return Findings(title, (*strong, *quiet), folded=folded)
    return Findings(title, tuple(strong), tuple(quiet), folded=folded)


def _findings(cells: Cells, column: Column, against: str) -> list[Finding]:
    scores = cells.scores(column)
    marks = {m: rows for m in cells.models if (rows := cells.marks(m, column))}
    if against not in marks:
        return []
    same = {
        model: rows
        for model, rows in marks.items()
        if scores[model].data == scores[against].data and len(rows[0]) == len(marks[against][0])
    }
    findings = _compared(compare_all(same, against, repeats=cells.repeats)) if len(same) > 1 else []
    if findings and scores[against].several_samples:
        count = len(scores[against].data)
        text = f"Compared on one of {count} samples: the others may hold the same examples."
        findings.append(Finding(text))
    if others := [model for model in marks if model not in same]:
        text = f"{joined(others)}: measured on other examples than {against}, so not compared."
        findings.append(Finding(text))
    return findings


def _compared(found: Sequence[Comparison]) -> list[Finding]:
    scale = max(abs(end) for c in found for end in (c.difference.low, c.difference.high)) or 1.0
    ordered = sorted(found, key=lambda one: -one.difference.value)
    return [
        Finding(
            one.sentence().rstrip(".") + ".",
            Reach(one.difference.value, one.difference.low, one.difference.high, scale),
            one.significant,
        )
        for one in ordered
    ]
