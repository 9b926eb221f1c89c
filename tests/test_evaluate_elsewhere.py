"""Outcomes that no suite made, as records that reports find."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest
from attack_bag import LEXICON, BagOfWords, examples

from holdfast.attack import attack_to_file, recipes
from holdfast.attack.bridge import read_textattack_log, write_outcomes
from holdfast.errors import InputError
from holdfast.evaluate import record_of_outcomes
from holdfast.evaluate.preparing import _checksums as of_evaluation
from holdfast.record import find_records, write_record
from holdfast.victim import FunctionVictim

COLUMNS = (
    *("original_text", "perturbed_text", "original_output", "perturbed_output"),
    *("ground_truth_output", "num_queries", "result_type"),
)
ROWS = [
    ("a [[great]] film", "a [[fine]] film", 1, 0, 1, 12, "Successful"),
    ("a bad film", "a bad film", 0, 0, 0, 30, "Failed"),
    ("a dull film", "a dull film", 1, 1, 0, 1, "Skipped"),
    ("a good film", "a good film", 1, 1, 1, 20, "Failed"),
]


def outcomes_of_log(folder: Path) -> Path:
    """The outcomes of a small log of TextAttack."""
    with (folder / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *ROWS])
    found = read_textattack_log(folder / "log.csv")
    return write_outcomes(found, folder / "log.jsonl", attack="textfooler", victim="bert")


def test_a_log_of_textattack_becomes_a_record(tmp_path: Path) -> None:
    path = outcomes_of_log(tmp_path)
    record = record_of_outcomes(path, model="bert", task="sst2", seed=4)
    assert not list(tmp_path.glob("*.json"))  # nothing is written
    write_record(record, tmp_path / "log.json")
    found = find_records([tmp_path])
    assert (found.problems, found.records) == ((), ((tmp_path / "log.json", record),))
    assert (record.attack, record.seed, record.outcomes) == ("textfooler", 4, "log.jsonl")
    assert record.marks == {"accuracy": "1101", "accuracy_under_attack": "0101"}
    under = record.metric("accuracy_under_attack")
    assert (under.count, under.total, under.majority, under.chance) == (2, 4, 0.5, 0.5)
    assert record.metric("success_rate").count == 1
    assert record.checksums["model"] == "bert"
    assert {"data", "attack", "outcomes"} <= record.checksums.keys()
    assert "nothing was verified" in record.notes[-1]


def test_chance_is_left_out_where_the_classes_are_not_known(tmp_path: Path) -> None:
    record = record_of_outcomes(outcomes_of_log(tmp_path), model="bert", task="reviews")
    accuracy = record.metric("accuracy")
    assert (accuracy.majority, accuracy.chance) == (0.5, None)


def test_another_goal_is_another_attack(tmp_path: Path) -> None:
    path = outcomes_of_log(tmp_path)
    header, *rest = path.read_text().splitlines()
    for goal, name in (
        ({"type": "Targeted", "target": 1}, "textfooler to class 1"),
        ({"type": "ScoreDecrease", "below": 0.4}, "textfooler below 0.4"),
        ({"type": "Untargeted"}, "textfooler"),
    ):
        changed = json.loads(header)
        changed["attack"]["goal"] = goal
        path.write_text("\n".join([json.dumps(changed), *rest]) + "\n")
        assert record_of_outcomes(path, model="bert", task="sst2").attack == name


def test_an_evaluation_with_the_same_attack_has_the_same_checksum(tmp_path: Path) -> None:
    attack, victim = recipes.pwws_rift(LEXICON), FunctionVictim(BagOfWords(bias=-0.8), name="bag")
    path = attack_to_file(
        attack, victim, examples("a great film"), tmp_path / "found.jsonl", seed=0
    )
    record = record_of_outcomes(path, model="bag", task="sst2")
    assert record.checksums["attack"] == of_evaluation(attack)["attack"]
    fewer = dataclasses.replace(attack, max_queries=3)
    assert record.checksums["attack"] != of_evaluation(fewer)["attack"]


def test_what_is_not_finished_or_has_no_attack_is_refused(tmp_path: Path) -> None:
    path = outcomes_of_log(tmp_path)
    whole = path.read_text()
    path.write_text(whole[:-9])
    with pytest.raises(InputError, match="3 outcomes of the 4 that it promises"):
        record_of_outcomes(path, model="bert", task="sst2")
    path.write_text(whole + whole.splitlines(keepends=True)[1] * 9)
    with pytest.raises(InputError, match="promises 4 outcomes and holds more"):
        record_of_outcomes(path, model="bert", task="sst2", verified=True)
    path.write_text(whole.replace('"name": "textfooler"', '"title": "textfooler"'))
    with pytest.raises(InputError, match="does not name its attack"):
        record_of_outcomes(path, model="bert", task="sst2")
