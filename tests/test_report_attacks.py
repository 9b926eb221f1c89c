"""Attacks of one name in a report: other settings are other columns, and doubles are told."""

from dataclasses import replace
from pathlib import Path

import pytest
import report_records as made

from holdfast.record import Found, Metric, RunRecord
from holdfast.report import Published, report
from holdfast.report.content import Content, Table


def content(*records: RunRecord) -> Content:
    return report(Found(tuple((Path(f"{n}.json"), r) for n, r in enumerate(records)), ())).content


def attacked(model: str, value: float, settings: str, **fields) -> RunRecord:
    one = made.attack_record(model, 0, "pwws_rift", 100, value, **fields)
    return replace(one, checksums={**one.checksums, "attack": settings * 64})


def results(told: Content) -> Table:
    return next(one for one in told.sections if one.name == "results").blocks[0]


def heads(told: Content) -> list[str]:
    return [cell.text for cell in results(told).head]


def alerts(told: Content, words: str) -> list[str]:
    return [f"{alert.text} {alert.where}" for alert in told.alerts if words in alert.text]


def test_other_settings_are_another_column_and_are_not_compared() -> None:
    told = content(attacked("plain", 0.2, "a"), attacked("mine", 0.8, "b"))
    names = ["under pwws_rift (settings aaaaaa)", "under pwws_rift (settings bbbbbb)"]
    assert heads(told) == ["model", "clean", *names]
    plain, mine = (row.cells for row in results(told).rows[:2])
    assert [cell.text == "\N{EM DASH}" for cell in plain] == [False, False, True]
    assert [cell.text == "\N{EM DASH}" for cell in mine] == [False, True, False]
    (alert,) = alerts(told, "other settings or files")
    assert alert.endswith("pwws_rift on sst2: aaaaaa and bbbbbb")
    compared = [one for one in told.sections if one.name == "comparisons"]
    assert [block.title for one in compared for block in one.blocks] == ["sst2 clean"]


def test_one_checkpoint_has_a_number_under_each_of_them() -> None:
    told = content(attacked("m", 0.8, "a"), attacked("m", 0.2, "b"))
    assert len(heads(told)) == 4
    assert not alerts(told, "other numbers")


def test_the_same_settings_are_one_column_and_nothing_is_said() -> None:
    told = content(attacked("plain", 0.2, "a"), attacked("mine", 0.8, "a"))
    assert heads(told) == ["model", "clean", "under pwws_rift"]
    assert not alerts(told, "other settings or files")


def test_the_adaptive_check_has_its_settings_in_the_heads() -> None:
    def checked(model: str, settings: str) -> RunRecord:
        one = made.adaptive_record(model, 0, 60, 0.3)
        return replace(one, checksums={**one.checksums, "attack": settings * 64})

    told = content(checked("plain", "a"), checked("mine", "b"))
    assert "white box (settings aaaaaa)" in heads(told)
    assert "white box (settings bbbbbb)" in heads(told)


def test_a_record_that_is_there_twice_is_no_matter() -> None:
    one = attacked("m", 0.8, "a")
    slower = replace(one, metrics=(*one.metrics, Metric("latency_ms", 9.0)), seconds=9.0)
    slowest = replace(one, metrics=(*one.metrics, Metric("latency_ms", 99.0)))
    assert not alerts(content(one, one, slower, slowest), "other numbers")


def test_two_records_of_one_thing_with_other_numbers_are_told() -> None:
    told = content(attacked("m", 0.8, "a"), attacked("m", 0.2, "a"))
    (alert,) = alerts(told, "other numbers")
    assert alert.endswith("m, seed 0: sst2 under pwws_rift")
    again = attacked("m", 0.2, "a", seeds={"attack": 1})
    assert not alerts(content(attacked("m", 0.8, "a"), again), "other numbers")


def test_who_proves_some_answers_asks_less_and_says_nothing_else() -> None:
    searched = attacked("m", 0.5, "a")
    proved = [replace(m, value=9.0) if m.name == "queries" else m for m in searched.metrics]
    metrics = (*proved, Metric("certified_accuracy", 0.25))
    assert not alerts(content(searched, replace(searched, metrics=metrics)), "other numbers")


def published(told: Content) -> list[str]:
    (section,) = (one for one in told.sections if one.name == "published")
    return [row.cells[1].text for row in section.blocks[0].rows]


def beside(*records: RunRecord, row: str, column: str) -> list[str]:
    entry = Published("Table 1", row, column, 40.0)
    found = Found(tuple((Path(f"{n}.json"), r) for n, r in enumerate(records)), ())
    return published(report(found, published=[entry]).content)


@pytest.mark.parametrize("column", ["pwws_rift", "under pwws_rift", "PWWS-RIFT"])
def test_a_published_number_stands_beside_the_attack_that_its_model_met(column: str) -> None:
    records = attacked("plain", 0.2, "a"), attacked("mine", 0.8, "b")
    shares = [one.metric("accuracy_under_attack").value for one in records]
    for model, share in zip(("plain", "mine"), shares, strict=True):
        assert beside(*records, row=model, column=column) == [f"{100 * share:.1f}"]


def test_of_several_attacks_on_its_model_a_published_number_stands_beside_none() -> None:
    records = large, _ = attacked("m", 0.8, "a"), attacked("m", 0.2, "b")
    assert beside(*records, row="m", column="pwws_rift") == ["\N{EM DASH}"]
    share = f"{100 * large.metric('accuracy_under_attack').value:.1f}"
    assert beside(*records, row="m", column="pwws_rift (settings aaaaaa)") == [share]


def test_a_published_white_box_number_needs_no_settings() -> None:
    def checked(model: str, settings: str) -> RunRecord:
        one = made.adaptive_record(model, 0, 60, 0.3)
        return replace(one, checksums={**one.checksums, "attack": settings * 64})

    records = checked("plain", "a"), checked("mine", "b")
    share = records[0].metric("white_box_accuracy").value
    assert beside(*records, row="plain", column="white box") == [f"{100 * share:.1f}"]


def test_marks_that_differ_are_told_even_where_the_share_is_the_same() -> None:
    one = attacked("m", 0.5, "a")
    turned = {name: marks[::-1] for name, marks in one.marks.items()}
    assert alerts(content(one, replace(one, marks=turned)), "other numbers")
