"""AdvGLUE by level: what is taken together over the tasks, and of whom."""

from pathlib import Path

import pytest
import report_records as made

from holdfast.record import Found, RunRecord
from holdfast.report import report
from holdfast.report.cells import Cells
from holdfast.report.content import Figure
from holdfast.report.levels import Bars, _bars


def rows(model: str, task: str, right: int, level: str = "word", seed: int = 0) -> RunRecord:
    marks = "1" * right + "0" * (100 - right)
    share = made.share("accuracy", marks, level, 0.5)
    known = {f"accuracy/{level}": marks}
    return made.record(model, f"advglue/{task}", seed, metrics=(share,), marks=known)


def bars_of(*records: RunRecord) -> Bars:
    """The bars of all tasks together."""
    cells = Cells.of(records)
    return _bars(cells, [column for column in cells.columns if column.group])


def figures(*records: RunRecord) -> dict[str, Figure]:
    found = Found(tuple((Path(f"{n}.json"), one) for n, one in enumerate(records)), ())
    (levels,) = [one for one in report(found).content.sections if one.name == "levels"]
    return {one.name: one for one in levels.blocks}


def names(figure: Figure) -> list[str]:
    return [row.head.text for row in figure.numbers.rows if row.kind == "measured"]


BOTH = [rows(m, task, right) for m in "AB" for task, right in (("sst2", 30), ("rte", 70))]


def test_a_model_that_lacks_a_task_is_left_out_of_all_tasks_together() -> None:
    """It would look better by the easier rows alone."""
    found = figures(*BOTH, rows("C", "rte", 65))
    whole = found["levels-AdvGLUE, all tasks"]
    assert names(whole) == ["A", "B"]
    assert whole.note.endswith("Left out where they lack a task or its number of rows: C.")
    assert whole.numbers.head[1].detail == "200 rows"
    assert names(found["levels-AdvGLUE rte"]) == ["A", "B", "C"]
    assert "Left out" not in found["levels-AdvGLUE rte"].note


def test_nobody_is_left_out_where_all_have_all_tasks() -> None:
    whole = figures(*BOTH)["levels-AdvGLUE, all tasks"]
    assert "Left out" not in whole.note
    assert whole.numbers.rows[0].cells[0].text == "50.0"


def test_without_a_model_that_has_all_tasks_there_is_no_figure_of_them() -> None:
    found = figures(rows("A", "sst2", 30), rows("B", "rte", 70))
    assert list(found) == ["levels-AdvGLUE sst2", "levels-AdvGLUE rte"]


def test_a_task_may_be_lacking_at_one_level_alone() -> None:
    human = [rows("A", "sst2", 20, "human"), rows("A", "rte", 40, "human")]
    whole = figures(*BOTH, *human, rows("B", "rte", 90, "human"))["levels-AdvGLUE, all tasks"]
    cells = {row.head.text: [cell.text for cell in row.cells] for row in whole.numbers.rows}
    assert (cells["A"], cells["B"]) == (["50.0", "30.0"], ["50.0", ""])
    assert whole.note.endswith(": B.")


def test_a_bar_reaches_as_far_as_its_trainings_lie_apart() -> None:
    """Of one training the rows are all that is left to chance; two that differ leave more."""

    def reach(*shares: int) -> float:
        of_seeds = [rows("A", "sst2", right, seed=seed) for seed, right in enumerate(shares)]
        bar = bars_of(*of_seeds)["A", "word"]
        assert bar.value == pytest.approx(sum(shares) / len(shares) / 100)
        return bar.high - bar.low

    assert reach(50) == pytest.approx(0.19, abs=0.01)  # Wilson's, of 100 rows
    assert reach(20, 80) > 2 * reach(50)


def test_tasks_that_are_taken_together_leave_less_open_than_each() -> None:
    one, both = (bars_of(*BOTH[:n])["A", "word"] for n in (1, 2))
    assert both.value == pytest.approx(0.5)
    assert both.high - both.low < one.high - one.low
