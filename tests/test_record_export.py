"""Records for other tools: rows that lose nothing, and a card that the Hub's own parser reads."""

import csv
import dataclasses
import io
import re
import sys
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results

from holdfast.errors import InputError
from holdfast.record import (
    METRICS,
    Metric,
    RunRecord,
    find_records,
    model_card_section,
    to_csv,
    to_pandas,
    to_rows,
)
from holdfast.record.export import COLUMNS
from holdfast.statistics import bootstrap_mean, wilson

KEPT = Path(__file__).parent / "data_files" / "records"
RECORDS = [record for _, record in find_records([KEPT]).records]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def share(name: str, marks: str, **about: object) -> Metric:
    count, total = marks.count("1"), len(marks)
    return Metric(name, count / total, *wilson(count, total), count, total, **about)


def record(model: str = "rift", task: str = "sst2", seed: int = 0, **about: object) -> RunRecord:
    """An evaluation whose marks are its metrics."""
    marks = about.pop("marks")
    return RunRecord(
        kind="evaluation",
        model=model,
        task=task,
        seed=seed,
        config={},
        metrics=tuple(share(name, row, majority=0.5) for name, row in marks.items()),
        marks=marks,
        checksums={"data": about.pop("data", "d" * 64), "model": f"{model}{seed}"},
        environment={"holdfast": "0.1.0", "commit": COMMIT},
        device="cpu",
        **about,
    )


CLEAN = record(marks={"accuracy": "1" * 9 + "0"})
ATTACKED = record(
    attack="pwws_rift",
    marks={"accuracy": "1" * 9 + "0", "accuracy_under_attack": "1" * 6 + "0" * 4},
)

# Rows -----------------------------------------------------------------------------------------


def test_every_metric_is_a_row() -> None:
    rows = to_rows(RECORDS)
    assert len(rows) == sum(len(record.metrics) for record in RECORDS) == 12
    assert {tuple(row) for row in rows} == {COLUMNS}
    row = next(row for row in rows if row["attack"] and row["metric"] == "accuracy_under_attack")
    assert row == {
        "kind": "evaluation",
        "model": "rift",
        "task": "reviews",
        "attack": "pwws_rift",
        "seed": 3,
        "metric": "accuracy_under_attack",
        "group": "",
        "value": 0.5,
        "low": 0.236593,
        "high": 0.763407,
        "count": 5,
        "total": 10,
        "majority": 0.6,
        "chance": 0.5,
        "commit": COMMIT,
        "device": "cpu",
        "seconds": 4.5,
    }


def test_csv_holds_the_rows() -> None:
    odd = dataclasses.replace(CLEAN, model='a "b", <c>\nd', environment={})
    found = list(csv.DictReader(io.StringIO(to_csv([*RECORDS, odd]))))
    assert [list(row.values()) for row in found] == [
        ["" if value is None else str(value) for value in row.values()]
        for row in to_rows([*RECORDS, odd])
    ]
    assert to_csv([]) == ",".join(COLUMNS) + "\n"


def test_pandas_holds_the_rows_as_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    table = to_pandas(RECORDS)
    assert tuple(table.columns) == COLUMNS
    assert {str(table[name].dtype) for name in ("value", "low", "seconds")} == {"float64"}
    assert {str(table[name].dtype) for name in ("seed", "count", "total")} == {"Int64"}
    similarity = table[table.metric == "similarity"].iloc[0]
    assert pandas.isna(similarity["value"])
    assert pandas.isna(similarity["count"])
    assert table[table.attack == "pwws_rift"]["value"].max() == 1.5
    unknown = dataclasses.replace(CLEAN, seed=None)
    assert to_pandas([unknown])["seed"].isna().all()
    assert tuple(to_pandas([]).columns) == COLUMNS


def test_pandas_is_asked_for_where_it_is_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas.*pip install 'holdfast\[pandas\]'"):
        to_pandas(RECORDS)


# The model card -------------------------------------------------------------------------------


def rows_of(card: str) -> list[list[str]]:
    lines = [line for line in card.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def yaml_of(card: str) -> str:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", card, re.DOTALL | re.MULTILINE)
    return str(block)


def index_of(card: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = yaml.safe_load(yaml_of(card))["model-index"]
    return found


def results_of(card: str) -> list[EvalResult]:
    return model_index_to_eval_results(index_of(card))[1]


def test_a_card_shows_clean_and_attacked_numbers_with_intervals() -> None:
    card = model_card_section([CLEAN, ATTACKED])
    assert card.startswith("## Robustness of rift\n")
    assert rows_of(card) == [
        ["sst2", "as they are", "accuracy", "90.0 %", "59.6 % to 98.2 %", "50.0 %", "10", "1"],
        [
            *("sst2", "under pwws_rift", "accuracy under attack"),
            *("60.0 %", "31.3 % to 83.2 %", "50.0 %", "10", "1"),
        ],
    ]
    assert f"- accuracy under attack: {METRICS['accuracy_under_attack']}." in card
    assert "Measured with Holdfast 0.1.0 (commit 0123456789ab) on cpu." in card
    assert "of one training seed no spread over seeds can be given" in card


def test_an_attack_with_other_settings_is_another_row_and_the_card_says_so() -> None:
    def under(settings: str, right: int) -> RunRecord:
        marks = {"accuracy": "1" * 10, "accuracy_under_attack": "1" * right + "0" * (10 - right)}
        one = record(attack="pwws", marks=marks)
        return dataclasses.replace(one, checksums={**one.checksums, "attack": settings * 64})

    card = model_card_section([under("a", 6), under("b", 8)])
    assert [(row[1], row[3]) for row in rows_of(card)] == [
        ("as they are", "100.0 %"),
        ("under pwws (settings aaaaaa)", "60.0 %"),
        ("under pwws (settings bbbbbb)", "80.0 %"),
    ]
    assert "one name stands for several attacks" in card
    assert [found.metric_value for found in results_of(card)] == [1.0, 0.6, 0.8]
    alone = model_card_section([under("a", 6)])
    assert "under pwws |" in alone
    assert "several attacks" not in alone


def test_the_small_genetic_search_has_the_settings_of_its_check() -> None:
    def checked(settings: str) -> RunRecord:
        left = Metric("accuracy_under_attack", 0.5, group="small_genetic")
        one = record(attack="adaptive", marks={"accuracy": "11"})
        checksums = {**one.checksums, "attack": settings * 64}
        return dataclasses.replace(one, metrics=(left,), checksums=checksums)

    told = [row[1] for row in rows_of(model_card_section([checked("a"), checked("b")]))]
    assert told == [f"under a small genetic search (settings {one * 6})" for one in "ab"]


def test_the_hub_reads_the_index() -> None:
    card = model_card_section([CLEAN, ATTACKED])
    name, results = model_index_to_eval_results(index_of(card))
    assert name == "rift"
    assert [(found.metric_type, found.metric_value) for found in results] == [
        ("accuracy", 0.9),
        ("accuracy_under_attack", 0.6),
    ]
    assert {found.task_type for found in results} == {"text-classification"}
    where = {(found.dataset_type, found.dataset_name, found.dataset_config) for found in results}
    assert where == {("nyu-mll/glue", "sst2", "sst2")}
    assert results[1].metric_name == "accuracy under attack, texts under pwws_rift"
    assert results[1].metric_args == {
        "attack": "pwws_rift",
        "low": 0.3127,
        "high": 0.8318,
        "majority_class": 0.5,
        "examples": 10,
        "training_seeds": 1,
    }


def test_a_card_made_of_it_is_whole_and_comes_back() -> None:
    card = model_card_section([CLEAN, ATTACKED])
    whole = ModelCard(f"---\nlicense: mit\n{yaml_of(card)}---\n\n# Mine\n\n{card}")
    assert whole.data.model_name == "rift"
    assert len(whole.data.eval_results) == 2
    again = ModelCard(str(whole))
    assert again.data.eval_results == whole.data.eval_results
    assert again.data.license == "mit"


def test_several_seeds_are_one_row_with_the_interval_of_both() -> None:
    marks = ["1110" * 30, "1100" * 30, "1111" * 30]
    found = [record(seed=seed, marks={"accuracy": row}) for seed, row in enumerate(marks)]
    card = model_card_section(found)
    known = bootstrap_mean(marks)
    ends = f"{100 * known.low:.1f} % to {100 * known.high:.1f} %"
    assert rows_of(card) == [
        ["sst2", "as they are", "accuracy", "75.0 %", ends, "50.0 %", "120", "3"]
    ]
    assert "no spread" not in card
    assert results_of(card)[0].metric_args["training_seeds"] == 3


def test_seeds_on_other_examples_have_a_mean_without_interval() -> None:
    found = [
        record(seed=seed, marks={"accuracy": "10" * 5}, data=str(seed) * 64) for seed in range(2)
    ]
    assert rows_of(model_card_section(found))[0][3:5] == ["50.0 % ▼", "not known"]
    assert "low" not in results_of(model_card_section(found))[0].metric_args


def test_two_samples_of_one_model_are_one_share_and_no_surer_than_one() -> None:
    found = [
        record(marks={"accuracy": "1" * 5 + "0" * 5}, data="a" * 64),
        record(marks={"accuracy": "1" * 10}, data="b" * 64),
    ]
    half, whole = wilson(5, 10), wilson(10, 10)
    low, high = ((one + other) / 2 for one, other in zip(half, whole, strict=True))
    ends = f"{100 * low:.1f} % to {100 * high:.1f} %"
    assert rows_of(model_card_section(found))[0][3:] == ["75.0 %", ends, "50.0 %", "10", "1"]


def test_the_accuracy_before_an_attack_counts_once() -> None:
    other = dataclasses.replace(ATTACKED, attack="genetic_jia")
    card = model_card_section([ATTACKED, other])  # no record of the clean texts alone
    assert [row[1:3] for row in rows_of(card)] == [
        ["as they are", "accuracy"],
        ["under pwws_rift", "accuracy under attack"],
        ["under genetic_jia", "accuracy under attack"],
    ]
    assert rows_of(card)[0][3:] == rows_of(model_card_section([CLEAN]))[0][3:]
    on_a_sample = dataclasses.replace(ATTACKED, checksums={"data": "e" * 64, "model": "rift0"})
    whole = record(marks={"accuracy": "1" * 100})
    assert rows_of(model_card_section([on_a_sample, whole]))[0][3] == "100.0 %"


def test_the_search_by_questions_of_the_adaptive_check_is_a_row() -> None:
    metrics = (
        Metric("white_box_accuracy", 0.5, total=10),
        Metric("white_box_accuracy", 0.6, total=10, group="hotflip"),
        Metric("accuracy_under_attack", 0.2, total=10, group="small_genetic"),
    )
    checked = dataclasses.replace(ATTACKED, attack="adaptive", metrics=metrics, marks={})
    assert [row[1:4] for row in rows_of(model_card_section([checked]))] == [
        ["under adaptive", "white box accuracy", "50.0 %"],
        ["under a small genetic search", "accuracy under attack", "20.0 %"],
    ]


def test_a_model_that_knows_nothing_is_marked() -> None:
    constant = record(marks={"accuracy": "10" * 50})  # as good as the majority class
    card = model_card_section([constant])
    assert "50.0 % ▼" in rows_of(card)[0]
    assert "> **Warning:** ▼ is no better than always giving the most frequent answer." in card
    assert "▼" not in model_card_section([CLEAN])


def test_notes_are_told_once_and_as_text() -> None:
    odd = "A *black* box <script>alert(1)</script> | beat\na [white](x) one."
    records = [dataclasses.replace(found, notes=(odd,)) for found in (CLEAN, ATTACKED)]
    card = model_card_section(records)
    line = (
        "> **Note:** A \\*black\\* box &lt;script&gt;alert(1)&lt;/script&gt; \\| beat a "
        "\\[white\\](x) one."
    )
    assert card.splitlines().count(line) == 1
    assert "<script>" not in card
    warned = model_card_section([dataclasses.replace(CLEAN, notes=("Warning: it leaks.",))])
    assert "> **Warning:** it leaks." in warned


def test_names_that_are_odd_break_neither_table_nor_yaml() -> None:
    name = 'a|b "c": #d\n```\n- [e] größer 😀 \\'
    odd = dataclasses.replace(CLEAN, model=name, task="own: data|#1")
    card = model_card_section([odd])
    assert len(rows_of(card)) == 1
    assert index_of(card)[0]["name"] == name
    assert results_of(card)[0].dataset_name == "own: data|#1"
    assert results_of(card)[0].dataset_config is None


def test_adversarial_glue_is_named_as_the_hub_does() -> None:
    tasks = ["advglue/sst2", "advglue/mnli-mm", "advglue"]
    records = [record(task=task, marks={"accuracy": "1100"}) for task in tasks]
    found = results_of(model_card_section(records))
    assert {one.dataset_type for one in found} == {"AI-Secure/adv_glue"}
    assert [one.dataset_config for one in found] == ["adv_sst2", "adv_mnli_mismatched", None]
    assert {row[1] for row in rows_of(model_card_section(records))} == {"of AdvGLUE"}


def test_each_model_has_a_section_of_its_own() -> None:
    card = model_card_section([CLEAN, dataclasses.replace(CLEAN, model="plain"), ATTACKED])
    sections = re.split(r"^(?=## )", card, flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == [
        "## Robustness of rift",
        "## Robustness of plain",
    ]
    assert [len(results_of(section)) for section in sections] == [2, 1]


def test_a_run_that_was_only_trained_shows_what_training_measured() -> None:
    trained = [found for found in RECORDS if found.kind == "training"]
    rows = rows_of(model_card_section(trained))
    assert [row[1:4] for row in rows] == [
        ["validation", "accuracy", "75.0 %"],
        ["validation", "hull accuracy", "50.0 %"],
        ["held out", "accuracy", "70.0 %"],
        ["held out", "hull accuracy", "62.5 %"],
    ]
    evaluated = dataclasses.replace(CLEAN, model=trained[0].model)
    assert len(rows_of(model_card_section([*trained, evaluated]))) == 1


def test_a_model_without_numbers_says_so() -> None:
    card = model_card_section([dataclasses.replace(CLEAN, metrics=(Metric("accuracy", None),))])
    assert "Nothing was measured yet." in card
    assert "yaml" not in card
    with pytest.raises(InputError, match="no records to write a model card from"):
        model_card_section([])
