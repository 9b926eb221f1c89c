"""Splits of the known tasks, from a folder and from the Hub."""

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants

from holdfast.data import TASKS, Task, evaluation_split, find_task, load, load_split, read_split
from holdfast.data.files import Split, read_file
from holdfast.data.hub import cache_if_unreachable
from holdfast.errors import InputError
from holdfast.record import encode

SNLI_ROWS = [
    {"premise": "A", "hypothesis": "a", "label": 0},
    {"premise": "B", "hypothesis": "b", "label": -1},
    {"premise": "C", "hypothesis": "c", "label": 2},
]


def make_split(data: Path, name: str, content: str = "") -> None:
    file = data / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content or "sentence,label\nbad film,0\ngood film,1\n")


def test_the_known_tasks_have_the_columns_and_codes_of_the_hub() -> None:
    columns = {
        "sst2": ("sentence",),
        "qqp": ("question1", "question2"),
        "qnli": ("question", "sentence"),
        "mnli": ("premise", "hypothesis"),
        "rte": ("sentence1", "sentence2"),
        "imdb": ("text",),
        "snli": ("premise", "hypothesis"),
    }
    assert {task.name: task.texts for task in TASKS.values()} == columns
    assert TASKS["sst2"].labels[1] == "positive"
    assert TASKS["qqp"].labels[1] == "duplicate"
    assert TASKS["rte"].labels == TASKS["qnli"].labels == ("entailment", "not_entailment")
    assert (
        TASKS["mnli"].labels == TASKS["snli"].labels == ("entailment", "neutral", "contradiction")
    )


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    assert find_task("rte") is TASKS["rte"]
    with pytest.raises(InputError, match=r"'rtee'.*sst2, qqp"):
        find_task("rtee")


def test_a_split_is_found_by_task_and_name(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/validation.csv")
    examples = load_split(TASKS["sst2"], "validation", tmp_path)
    assert [(e.id, e.label) for e in examples] == [("validation:0", 0), ("validation:1", 1)]


def texts(data: Path) -> list[str]:
    return [example.texts[0] for example in load_split(TASKS["sst2"], "validation", data)]


def test_a_file_is_read_once_and_anew_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(task: Task, path: Path, split: str) -> Split:
        read.append(path.name)
        return read_file(task, path, split)

    monkeypatch.setattr(load, "read_file", counted)
    make_split(tmp_path, "sst2/validation.csv", "sentence,label\nold,0\nfilm,1\n")
    assert texts(tmp_path) == texts(tmp_path) == ["old", "film"]
    assert len(read) == 1
    make_split(tmp_path, "sst2/validation.csv", "sentence,label\nnew and longer,0\nfilm,1\n")
    assert texts(tmp_path) == ["new and longer", "film"]
    assert len(read) == 2


def test_a_file_of_the_same_size_is_read_anew_when_it_is_younger(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/validation.csv", "sentence,label\nold,0\nfilm,1\n")
    assert texts(tmp_path) == ["old", "film"]
    file = tmp_path / "sst2" / "validation.csv"
    before = file.stat()
    file.write_text("sentence,label\nnew,0\nfilm,1\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert texts(tmp_path) == ["new", "film"]


def test_who_changes_the_examples_does_not_change_those_of_the_next(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/validation.csv")
    load_split(TASKS["sst2"], "validation", tmp_path).clear()
    load_split(TASKS["sst2"], "validation", tmp_path).reverse()
    assert texts(tmp_path) == ["bad film", "good film"]


def test_one_file_read_as_another_split_has_its_own_ids(tmp_path: Path) -> None:
    for split in ("validation", "train"):
        make_split(tmp_path, f"sst2/{split}.csv")
        examples = load_split(TASKS["sst2"], split, tmp_path)
        assert [example.id for example in examples] == [f"{split}:0", f"{split}:1"]


def test_the_source_of_a_split_is_ready_for_a_record(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/train.csv")
    record = encode(read_split(TASKS["sst2"], "train", tmp_path).source)
    assert record["where"].endswith("sst2/train.csv")
    assert (record["rows"], record["dropped"], len(record["sha256"])) == (2, 0, 64)


def test_rows_without_a_gold_label_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["premise,hypothesis,label", "A,a,0", "B,b,-1", "C,c,2"]
    make_split(tmp_path, "snli/train.csv", "\n".join(lines))
    with caplog.at_level(logging.WARNING):
        split = read_split(TASKS["snli"], "train", tmp_path)
    assert [e.id for e in split.examples] == ["train:0", "train:2"]
    assert (split.source.rows, split.source.dropped) == (2, 1)
    assert "1 rows without a label" in caplog.text


def test_a_split_without_any_gold_label_is_refused(tmp_path: Path) -> None:
    make_split(tmp_path, "snli/test.csv", "premise,hypothesis,label\nA,a,-1\n")
    with pytest.raises(InputError, match="No row of snli, test"):
        load_split(TASKS["snli"], "test", tmp_path)


def test_training_on_one_class_is_refused_and_measuring_is_not(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        make_split(tmp_path, f"sst2/{split}.csv", "sentence,label\nx,1\ny,1\n")
    assert len(load_split(TASKS["sst2"], "validation", tmp_path)) == 2
    with pytest.raises(InputError, match=r"train\.csv holds one class only \(label 1\)"):
        load_split(TASKS["sst2"], "train", tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent does not exist.*sst2/train\.jsonl"):
        load_split(TASKS["sst2"], "train", tmp_path / "absent")


def test_a_folder_without_the_task_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder 'sst2' \(it is empty\)"):
        load_split(TASKS["sst2"], "train", tmp_path)
    make_split(tmp_path, "train.csv")
    with pytest.raises(InputError, match=r"no folder 'sst2' \(there are train\.csv\)"):
        load_split(TASKS["sst2"], "train", tmp_path)


def test_a_missing_split_says_which_are_there(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/train.csv")
    with pytest.raises(InputError, match=r"no split 'validation' \(there are train\.csv\)"):
        load_split(TASKS["sst2"], "validation", tmp_path)


def test_two_files_for_one_split_are_refused(tmp_path: Path) -> None:
    make_split(tmp_path, "sst2/train.csv")
    make_split(tmp_path, "sst2/train.jsonl")
    with pytest.raises(InputError, match=r"train\.jsonl and train\.csv; keep one"):
        load_split(TASKS["sst2"], "train", tmp_path)


def test_the_split_to_report_on_is_the_one_that_is_there(tmp_path: Path) -> None:
    make_split(tmp_path, "qqp/test_bimpm.csv")
    assert evaluation_split(TASKS["qqp"], tmp_path) == "test_bimpm"
    assert evaluation_split(TASKS["qqp"], None) == "validation"
    assert evaluation_split(TASKS["mnli"], None) == "validation_matched"
    assert evaluation_split(TASKS["imdb"], None) == "test"
    with pytest.raises(InputError, match="no split to report on"):
        evaluation_split(Task("mine", ("text",), ("no", "yes"), validation=None), None)


def pretend_hub(monkeypatch: pytest.MonkeyPatch, answer: list[Mapping[str, object]] | Exception):
    """Put a stand-in for `datasets` in place that answers, or fails, without a network."""
    asked: list[tuple[object, ...]] = []

    def load_dataset(path: str, name: str | None, *, split: str) -> list[Mapping[str, object]]:
        asked.append((path, name, split))
        if isinstance(answer, Exception):
            raise answer
        return answer

    errors = SimpleNamespace(DatasetsError=type("DatasetsError", (Exception,), {}))
    stand_in = SimpleNamespace(load_dataset=load_dataset, exceptions=errors)
    monkeypatch.setitem(sys.modules, "datasets", stand_in)
    return asked


def test_the_hub_gives_the_same_examples_as_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretend_hub(monkeypatch, SNLI_ROWS)
    split = read_split(TASKS["snli"], "train", None)
    assert asked == [("stanfordnlp/snli", None, "train")]
    assert [(e.id, e.texts, e.label) for e in split.examples] == [
        ("train:0", ("A", "a"), 0),
        ("train:2", ("C", "c"), 2),
    ]
    assert split.source.where == "hub:stanfordnlp/snli/train"
    assert (split.source.rows, split.source.dropped) == (2, 1)


def test_the_checksum_of_hub_examples_follows_their_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def digest(rows: list[Mapping[str, object]]) -> str:
        pretend_hub(monkeypatch, rows)
        return read_split(TASKS["snli"], "validation", None).source.sha256

    assert digest(SNLI_ROWS) == digest(list(SNLI_ROWS))
    assert digest(SNLI_ROWS) != digest([*SNLI_ROWS, SNLI_ROWS[0]])


def test_an_empty_text_on_the_hub_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"sentence": text, "label": n % 2} for n, text in enumerate(["x", " ", "y", "z"])]
    pretend_hub(monkeypatch, rows)
    split = read_split(TASKS["sst2"], "train", None)
    assert [e.id for e in split.examples] == ["train:0", "train:2", "train:3"]
    assert split.source.dropped == 1


@pytest.mark.parametrize("error", [ConnectionError("no route to host.\nmore"), ValueError("")])
def test_a_hub_out_of_reach_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    pretend_hub(monkeypatch, error)
    with pytest.raises(InputError) as caught:
        load_split(TASKS["sst2"], "train", None)
    message = str(caught.value)
    assert (str(error).partition(".")[0] or "ValueError") in message
    assert "pass a folder that holds sst2/train.jsonl" in message
    assert "\n" not in message


def test_a_hub_that_does_not_answer_is_asked_once_and_leaves_its_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    class Unreachable:
        def head(self, address: str, *, timeout: float) -> None:
            asked.append((address, timeout <= 5))
            raise ConnectionError("no route to host")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_session", Unreachable)
    with cache_if_unreachable():
        assert constants.is_offline_mode()
    assert not constants.is_offline_mode()
    assert asked == [(constants.ENDPOINT, True)]


@pytest.mark.parametrize(("status", "offline"), [(200, False), (404, False), (503, True)])
def test_a_hub_that_answers_is_read_and_a_broken_gateway_is_not(
    monkeypatch: pytest.MonkeyPatch, status: int, offline: bool
) -> None:
    session = SimpleNamespace(head=lambda *_, **__: SimpleNamespace(status_code=status))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: session)
    with cache_if_unreachable():
        assert constants.is_offline_mode() is offline


def test_without_datasets_a_folder_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"`datasets`.*not installed.*pass a folder"):
        load_split(TASKS["sst2"], "train", None)


def test_a_users_task_is_not_looked_for_on_the_hub() -> None:
    with pytest.raises(InputError, match="not on the Hub"):
        load_split(Task("mine", ("text",), ("no", "yes")), "train", None)


def test_listing_tasks_and_reading_files_imports_neither_torch_nor_datasets() -> None:
    code = (
        "import sys, holdfast.data\nprint({'torch', 'transformers', 'datasets'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
