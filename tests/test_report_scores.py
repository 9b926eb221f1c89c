"""The numbers of a report: means over trainings, baselines, marks, sweeps, warnings."""

from dataclasses import replace
from pathlib import Path

import pytest
import report_records as made

from holdfast.record import Found, Metric, RunRecord
from holdfast.record.pooling import REPEATS
from holdfast.report import Published, report
from holdfast.report.cells import FEWEST_REPEATS, Cells
from holdfast.report.comparisons import reference_model
from holdfast.report.content import Content, Findings, Section, Table
from holdfast.report.scores import Column
from holdfast.report.sweeps import curves, find_sweeps
from holdfast.statistics import bootstrap_mean, wilson

CLEAN = Column("sst2", None, "accuracy")
ATTACKED = Column("sst2", "pwws_rift", "accuracy_under_attack")


def found(*records: RunRecord) -> Found:
    return Found(tuple((Path(f"{n}.json"), one) for n, one in enumerate(records)), ())


def content(*records: RunRecord, **options) -> Content:
    return report(found(*records), **options).content


def test_records_alone_make_a_report() -> None:
    records = [marked("1" * 30, seed=seed) for seed in (0, 1)]
    alone = [replace(one, outcomes="lost.jsonl") for one in records]
    assert table(report(alone, []).content) == table(content(*records))
    assert report(alone).content.problems == ()


def section(content: Content, name: str) -> Section | None:
    return next((one for one in content.sections if one.name == name), None)


def table(content: Content, name: str = "results", at: int = 0) -> Table:
    tables = [b for b in section(content, name).blocks if isinstance(b, Table)]
    return tables[at]


def row(table: Table, name: str) -> tuple:
    return next(one.cells for one in table.rows if one.head.text == name)


def marked(marks: str, model: str = "m", seed: int = 0, **fields) -> RunRecord:
    metrics = (made.share("accuracy", marks, majority=0.5),)
    return made.record(model, "sst2", seed, metrics=metrics, marks={"accuracy": marks}, **fields)


def test_one_training_keeps_the_interval_of_its_record() -> None:
    score = Cells.of([marked("1" * 30 + "0" * 10)]).score("m", CLEAN)
    assert (score.value, score.runs, score.examples) == (0.75, 1, 40)
    assert (score.low, score.high) == wilson(30, 40)


def test_several_trainings_have_the_mean_and_a_bootstrap_over_both() -> None:
    rows = ["1" * 30 + "0" * 10, "1" * 34 + "0" * 6]
    score = Cells.of([marked(one, seed=seed) for seed, one in enumerate(rows)]).score("m", CLEAN)
    expected = bootstrap_mean(rows)
    assert score.value == pytest.approx(0.8)
    assert (score.low, score.high, score.runs) == (expected.low, expected.high, 2)


def test_several_attack_seeds_on_the_same_examples_are_no_more_examples() -> None:
    rows = {0: "1100", 1: "1000"}
    attacked = [
        marked(marks, seed=training, seeds={"attack": seed})
        for seed, marks in rows.items()
        for training in (0, 1)
    ]
    cells = Cells.of(attacked)
    assert cells.score("m", CLEAN).value == pytest.approx(0.375)
    assert cells.score("m", CLEAN).runs == 2
    assert cells.marks("m", CLEAN) == ["1100", "1100"]


def test_trainings_that_saw_other_examples_have_a_mean_and_no_interval() -> None:
    other = marked("1000", seed=1, checksums={"data": "others"})
    score = Cells.of([marked("1110"), other]).score("m", CLEAN)
    assert (score.value, score.low, score.high) == (0.5, None, None)


def test_trainings_that_saw_other_examples_are_not_lined_up() -> None:
    other = marked("1000", seed=1, checksums={"data": "others"})
    assert Cells.of([marked("1110"), marked("1000", seed=1)]).marks("m", CLEAN) == ["1110", "1000"]
    assert Cells.of([marked("1110"), other]).marks("m", CLEAN) == []
    told = content(marked("1110", "plain"), marked("1110"), other)
    assert section(told, "comparisons") is None


def samples(rows: dict[str, str], model: str = "m", **fields) -> list[RunRecord]:
    return [marked(one, model, checksums={"data": data}, **fields) for data, one in rows.items()]


def test_several_samples_have_an_interval_of_shares_as_wide_as_one() -> None:
    both = samples({"one sample": "1" * 30, "another": "1" * 30})
    right = Cells.of(both).score("m", CLEAN)
    assert (right.value, right.high, right.examples) == (1.0, 1.0, 30)
    assert right.low == pytest.approx(wilson(30, 30)[0])


def test_several_samples_are_said_to_be_as_sure_as_one_and_one_is_compared() -> None:
    rows = {"one sample": "1" * 30 + "0" * 30, "another": "1" * 40 + "0" * 20}
    told = content(*samples(rows, "plain"), *samples(dict.fromkeys(rows, "1" * 60)))
    assert "60 examples" in {cell.detail for cell in table(told).head}
    assert any("may hold the same examples" in note for note in table(told).notes)
    first, note = section(told, "comparisons").blocks[0].items
    assert "m is better by 33.3 points" in first.text  # "another" comes first by its name
    assert note.text == "Compared on one of 2 samples: the others may hold the same examples."
    alone = content(marked("1" * 60, "plain"), marked("1" * 60))
    assert not any("same examples" in note for note in table(alone).notes)


def test_several_attack_seeds_have_an_interval_of_shares() -> None:
    def score(*rows: str):
        two = [marked(one, seeds={"attack": seed}) for seed, one in enumerate(rows)]
        return Cells.of(two).score("m", CLEAN)

    right = score("1" * 30, "1" * 30)
    assert (right.value, right.high, right.examples) == (1.0, 1.0, 30)
    assert right.low == pytest.approx(wilson(30, 30)[0])  # all right leaves something open
    nearly = score("1" * 10, "1" * 9 + "0")
    assert 0.7 < nearly.low < 0.95
    assert nearly.high == 1.0


def test_very_many_cells_are_drawn_less_often() -> None:
    few = [marked("10" * 50, model) for model in "ab"]
    many = [marked("10" * 500, f"model {n}") for n in range(200)]
    assert Cells.of(few).repeats == REPEATS
    assert Cells.of(many).repeats == FEWEST_REPEATS


def test_an_attack_takes_its_baseline_from_the_same_examples_clean() -> None:
    clean = made.clean_record("plain", 0, 40, 0.9)
    attack = made.attack_record("plain", 0, "pwws_rift", 40, 0.2)
    assert Cells.of([clean, attack]).score("plain", ATTACKED).majority == 0.51
    elsewhere = replace(attack, checksums={"data": "others"})
    assert Cells.of([clean, elsewhere]).score("plain", ATTACKED).majority is None


def test_the_table_has_models_and_what_knowing_nothing_scores() -> None:
    kept = ("sst2", "advglue/sst2")
    records = [record for _, record in made.everything(40, seeds=(0, 1)) if record.task in kept]
    records = [replace(record, series=()) for record in records if record.kind == "evaluation"]
    shown = table(content(*records))
    heads = [cell.text for cell in shown.head]
    assert heads[:2] == ["model", "clean"]
    assert heads[-2:] == ["AdvGLUE sst2", "AdvGLUE sst2, both right"]
    names = [one.head.text for one in shown.rows]
    assert names == [*made.ROBUST, made.CONSTANT, "always the majority class", "at random"]
    assert [one.kind for one in shown.rows][-3:] == ["measured", "baseline", "baseline"]
    assert row(shown, "always the majority class")[-1].text == "51.4"
    assert all(cell.detail for cell in row(shown, "rift"))


def test_baselines_that_differ_are_a_range() -> None:
    three = [
        made.record("abc"[n], "sst2", 0, metrics=(made.share("accuracy", "1110", "", share),))
        for n, share in enumerate((0.5, 0.75, 0.6))
    ]
    baseline = row(table(content(*three)), "always the majority class")
    assert baseline[0].text == "50.0 to 75.0"


def test_what_is_below_the_majority_class_is_marked_and_never_the_best() -> None:
    shown = table(content(marked("1" * 30 + "0" * 70), marked("1" * 80 + "0" * 20, "good")))
    assert row(shown, "m")[0].flag == "no better than majority"
    assert row(shown, "good")[0].flag == ""
    assert row(shown, "good")[0].best
    only_bad = table(content(marked("1" * 30 + "0" * 70), marked("1" * 20 + "0" * 80, "worse")))
    assert not any(cell.best for one in only_bad.rows for cell in one.cells)


def test_a_constant_classifier_is_flagged_first_and_stands_last() -> None:
    told = content(made.constant_record(60), made.clean_record("plain", 0, 60, 0.9))
    assert told.alerts[0].level == "warning"
    assert "forgetful gives one answer to everything" in told.alerts[0].text
    rows = [one.head for one in table(told).rows if one.kind == "measured"]
    assert [cell.text for cell in rows] == ["plain", "forgetful"]
    assert rows[1].flag == "one answer to everything"
    fair = content(made.clean_record("plain", 0, 60, 0.9), made.clean_record("rift", 0, 60, 0.8))
    assert not [alert for alert in fair.alerts if "one answer" in alert.text]


def test_a_classifier_that_is_constant_in_its_outcomes_is_flagged_too(tmp_path: Path) -> None:
    attack = made.attack_record("minority", 0, "pwws_rift", 40, 0.3)
    outcomes = [made.outcome(number, "failed") for number in range(40)]
    made.write_outcomes(tmp_path / "o.jsonl", [replace(one, prediction=0) for one in outcomes])
    given = Found(((tmp_path / "a.json", replace(attack, outcomes="o.jsonl")),), ())
    assert "minority gives one answer" in report(given).content.alerts[0].text


def advglue(model: str, right: int, task: str = "sst2", **fields) -> RunRecord:
    """An accuracy on 148 rows, 76 of them of the majority class."""
    metrics = (made.share("accuracy", "1" * right + "0" * (148 - right), majority=76 / 148),)
    return made.record(model, f"advglue/{task}", 0, metrics=metrics, **fields)


def test_a_constant_on_advglue_is_flagged_and_never_bold() -> None:
    total = made.record("flat", "advglue", 0, metrics=(Metric("plain_mean", 0.9),))
    honest = made.record("honest", "advglue", 0, metrics=(Metric("plain_mean", 0.4),))
    noted = advglue("flat", 76, notes=(made.one_class(148),))
    shown = table(told := content(noted, total, advglue("honest", 60), honest))
    heads = {one.head.text: one.head.flag for one in shown.rows}
    assert (heads["flat"], heads["honest"]) == ("one answer to everything", "")
    assert "flat gives one answer to everything" in told.alerts[0].text
    assert row(shown, "flat")[0].flag == row(shown, "honest")[0].flag == "no better than majority"
    assert not any(cell.best for cell in row(shown, "flat"))
    assert row(shown, "honest")[1].best  # of the totals the only one that read the texts


def test_an_accuracy_that_is_just_the_majority_is_told_as_that() -> None:
    told = content(made.constant_record(60, notes=()), made.clean_record("plain", 0, 60, 0.9))
    assert told.alerts[0].text.startswith("forgetful scores exactly what a constant answer would:")
    assert not any("one answer" in alert.text for alert in told.alerts)
    assert not any(cell.best for cell in row(table(told), "forgetful"))
    chance = content(advglue("reads", 76), advglue("reads", 140, "qqp"), advglue("other", 90))
    assert not any("constant answer" in alert.text for alert in chance.alerts)


def test_a_constant_on_one_task_alone_is_flagged_there_alone() -> None:
    noted = advglue("m", 76, "rte", notes=(made.one_class(148),))
    told = content(noted, marked("1" * 90 + "0" * 10), marked("1" * 70 + "0" * 30, "n"))
    assert "m gives one answer to everything on AdvGLUE/rte: " in told.alerts[0].text
    own, adversarial = table(told), table(told, at=1)
    assert row(own, "m")[0].best
    assert {one.head.flag for one in own.rows} == {""}
    assert "one answer to everything on AdvGLUE/rte" in {one.head.flag for one in adversarial.rows}


def test_notes_of_records_are_told_once_with_where() -> None:
    note = "A black-box attack left less accuracy than every white-box one."
    told = content(*(marked("1" * 90 + "0" * 10, seed=seed, notes=(note,)) for seed in (0, 1)))
    alerts = [alert for alert in told.alerts if alert.text == note]
    assert len(alerts) == 1
    assert alerts[0].where == "m, seeds 0 and 1: sst2"


def test_notes_that_differ_in_figures_alone_are_told_as_one() -> None:
    said = "Warning: The attack a1 leaves {} % and the white box {} %, # of class ({})."
    notes = [said.format(2.0, 10, 0), said.format(11.5, 9.5, 0), said.format(2.0, 10, 1)]
    records = [marked("1" * 30, seed=at, notes=(note,)) for at, note in enumerate(notes)]
    texts = {alert.text: alert.where for alert in content(*records).alerts}
    both = "The attack a1 leaves 2.0 to 11.5 % and the white box 9.5 to 10 %, # of class (0)."
    assert texts[both] == "m, seeds 0 and 1: sst2"
    assert texts["The attack a1 leaves 2.0 % and the white box 10 %, # of class (1)."]
    odd = [marked("1" * 30, seed=at, notes=(note,)) for at, note in enumerate(("# of 5", "4 of 5"))]
    assert {"# of 5", "4 of 5"} <= {alert.text for alert in content(*odd).alerts}


def adaptive(**metrics: Metric) -> RunRecord:
    return made.record("m", "sst2", 0, attack="adaptive", metrics=tuple(metrics.values()))


def test_the_search_by_questions_of_the_adaptive_check_is_a_column() -> None:
    white = made.share("white_box_accuracy", "1" * 20 + "0" * 20, majority=0.5)
    short = made.share("accuracy_under_attack", "1" * 4 + "0" * 36, "small_genetic", 0.5)
    told = content(made.clean_record("m", 0, 40, 0.9), adaptive(white=white, short=short))
    shown = table(told)
    assert [cell.text for cell in shown.head] == ["model", "clean", "white box", "small genetic"]
    assert row(shown, "m")[2].text == "10.0"
    assert row(shown, "m")[2].flag == "no better than majority"


def test_a_model_that_was_not_attacked_through_its_gradients_is_noted() -> None:
    attacked = made.attack_record("m", 0, "pwws_rift", 40, 0.3)
    (alert,) = [a for a in content(attacked).alerts if "through its gradients" in a.text]
    assert (alert.level, alert.where) == ("note", "m (sst2)")
    assert "run holdfast evaluate with the adaptive check" in alert.text
    white = adaptive(white=made.share("white_box_accuracy", "1" * 20 + "0" * 20))
    assert not any("gradients" in a.text for a in content(attacked, white).alerts)
    nothing = adaptive(white=Metric("white_box_accuracy", None))
    assert any("through its gradients" in a.text for a in content(attacked, nothing).alerts)
    assert not any("gradients" in a.text for a in content(marked("1" * 40)).alerts)


def test_one_seed_is_said_to_have_no_spread() -> None:
    one = content(marked("1" * 90 + "0" * 10))
    assert any("no spread over seeds" in alert.text for alert in one.alerts)
    two = content(*(marked("1" * 90 + "0" * 10, seed=seed) for seed in (0, 1)))
    assert not any("no spread over seeds" in alert.text for alert in two.alerts)


def test_one_name_for_two_configurations_is_warned_of() -> None:
    other = made.config("plain", 1) | {"objective": {"type": "Smart"}}
    first, second = made.clean_record("plain", 0, 40, 0.9), made.clean_record("plain", 1, 40, 0.9)
    assert not any("One name" in alert.text for alert in content(first, second).alerts)
    mixed = content(first, replace(second, training=other))
    assert any("One name stands for several" in alert.text for alert in mixed.alerts)


def test_models_are_compared_with_the_plain_one_and_only_on_the_same_examples() -> None:
    plain = marked("1" * 20 + "0" * 40, "plain")
    better = marked("1" * 55 + "0" * 5, "better")
    other = marked("1" * 60, "elsewhere", checksums={"data": "others"})
    told = content(better, plain, other)
    block = section(told, "comparisons").blocks[0]
    assert isinstance(block, Findings)
    assert block.title == "sst2 clean"
    strong, last = block.items
    assert strong.strong
    assert strong.text.startswith("better is better")
    assert last.text == "elsewhere: measured on other examples than plain, so not compared."
    assert any("same examples" in alert.text for alert in told.alerts)


def test_nothing_is_compared_across_tasks() -> None:
    other = replace(marked("1" * 60, "b"), task="imdb", checksums={"data": "imdb"})
    told = content(marked("1" * 20 + "0" * 40, "a"), other)
    assert section(told, "comparisons") is None
    assert [b.title for b in section(told, "results").blocks] == ["sst2", "imdb"]
    assert any("nothing is compared across tasks" in alert.text for alert in told.alerts)


def test_the_reference_is_the_one_asked_for_else_a_plain_one_else_the_first() -> None:
    assert reference_model(["rift", "Plain"]) == "Plain"
    assert reference_model(["rift", "smart"]) == "rift"
    assert reference_model(["rift", "plain"], "rift") == "rift"


def test_sweeps_are_found_by_comparing_configurations() -> None:
    cells = Cells.of(record for _, record in made.sweep(40))
    measured = [one for (_, c), some in cells.found.items() if c == CLEAN for one in some]
    sweeps = {
        sweep.setting: [value for value, _ in sweep.points] for sweep in find_sweeps(measured)
    }
    assert sweeps == {
        "iterations T": [1.0, 5.0, 10.0, 15.0],
        "layers": ["1-3", "4-6", "all"],
        "alpha": [0.0, 0.1, 0.3],
    }


def test_trainings_of_a_sweep_are_joined_in_its_order() -> None:
    joined = curves(record for _, record in made.sweep(40))
    assert ["implicit-T1", "implicit-T5", "implicit-T10", "implicit-T15"] in joined


def test_levels_of_advglue_are_pooled_over_tasks_with_their_baseline() -> None:
    records = [made.advglue_record("m", 0, task, rows, 0.4) for task, rows in made.ADVGLUE.items()]
    figures = section(content(*records), "levels").blocks
    assert [figure.sketch.title for figure in figures][:3] == [
        "AdvGLUE, all tasks: accuracy by level",
        "AdvGLUE sst2: accuracy by level",
        "AdvGLUE qqp: accuracy by level",
    ]
    numbers = figures[0].numbers
    assert [cell.text for cell in numbers.head] == ["model", "word", "sentence", "human"]
    word = [record.metric("accuracy", "word") for record in records]
    pooled = sum(m.count for m in word) / sum(m.total for m in word)
    assert row(numbers, "m")[0].text == f"{100 * pooled:.1f}"
    assert row(numbers, "always the majority class")[0].text == "50.0"


def test_published_numbers_stand_beside_what_was_measured_under_the_same_names() -> None:
    entries = [
        Published("Table 1", "M", "clean", 70.0),
        Published("Table 1", "other", "clean", 50.0),
        Published("Table 2", "x", "y", 40.0, measured=44.4, low=41.0, high=48.0, note="Smaller."),
        Published("Table 2", "x", "distance", 0.021, measured=0.0174),
    ]
    told = content(marked("1" * 75 + "0" * 25), published=entries)
    first = [[cell.text for cell in one.cells] for one in table(told, "published", 0).rows]
    assert first[0][:2] == ["70", "75.0"]
    assert first[0][3] == "+5.0"
    assert first[1] == ["50", "—", "—", "—"]
    second = table(told, "published", 1)
    assert [cell.text for cell in second.rows[0].cells] == ["40", "44.4", "41.0 to 48.0", "+4.4"]
    assert [cell.text for cell in second.rows[1].cells] == [
        "0.021",
        "0.017",
        "",
        "\N{MINUS SIGN}0.004",
    ]
    assert second.notes == ("Smaller.",)


def test_cost_and_attacks_have_tables_with_their_definitions() -> None:
    records = [made.clean_record("m", 0, 40, 0.9), made.attack_record("m", 0, "pwws_rift", 40, 0.3)]
    told = content(*records)
    assert [cell.text for cell in row(table(told, "cost"), "m")] == ["109.5 M", "22.35", "8.25"]
    heads = [cell.text for cell in table(told, "attacks").head]
    assert heads[1:] == ["success rate", "changed words", "changed share", "queries", "similarity"]


def test_a_metric_that_could_not_be_measured_is_no_number() -> None:
    nothing = made.record("m", "sst2", 0, metrics=(Metric("accuracy", None),))
    shown = table(content(nothing, marked("1" * 8 + "0" * 2, "n")))
    assert row(shown, "m")[0].detail == "not measured"
    assert row(shown, "n")[0].text == "80.0"
