"""`holdfast reproduce`: the list, the explanation, the run, the same cell again."""

import json
import re
import shutil
from pathlib import Path

import pytest
from reproduce_tiny import prepare

from holdfast import cli
from holdfast.reproduce import REPRODUCTIONS


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return prepare(tmp_path_factory.mktemp("cli"))


def arguments(place: Path, *words: str) -> list[str]:
    given = {"model": "model", "data": "data", "output": "out", "wordnet": "data/wordnet"}
    flags = [word for name, path in given.items() for word in (f"--{name}", str(place / path))]
    return ["reproduce", *words, *flags, "--budget", "tiny"]


def test_without_a_name_they_are_listed(capsys):
    assert cli.main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in REPRODUCTIONS)
    assert "IM-BERT, Table 2" in listed


def test_an_explanation_tells_the_choices_and_the_cells(place, capsys):
    assert cli.main(arguments(place, "imbert-table2", "--explain")) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the same equation really solved" in told
    assert "Epochs on so few examples." in told
    assert "4 cells with the budget tiny" in told
    assert "IM-BERT T5 N500, sst2, seed 0" in told
    assert not (place / "out").exists()


def test_the_list_and_an_explanation_can_be_read_by_programs(place, capsys):
    assert cli.main(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == REPRODUCTIONS.keys()
    assert cli.main(arguments(place, "imbert-table2", "--explain", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["reproduction"] == "imbert-table2"
    assert len(told["cells"]) == 4
    assert told["choices"][0].keys() == {"open", "taken"}
    assert any("tokens" in one or "examples" in one for one in told["differences"])
    assert not (place / "out").exists()


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_every_recipe_can_be_explained(name, place, capsys):
    assert cli.main(arguments(place, name, "--explain")) == 0
    told = capsys.readouterr().out
    assert REPRODUCTIONS[name].published.claims[0].split(",")[0] in " ".join(told.split())


def test_who_has_no_model_is_told_of_the_papers(monkeypatch, capsys):
    monkeypatch.setattr("holdfast.data.demo._MODEL", ("no-such-package", "0"))
    assert cli.main(["reproduce", "imbert-table3", "--explain", "--budget", "full"]) == 0
    told = capsys.readouterr().out
    assert "60 cells with the budget full" in told  # twelve rows, five seeds
    assert cli.main(["reproduce", "imbert-table3", "--budget", "full"]) == 2
    assert "no-such-package" in capsys.readouterr().err


def test_a_run_prints_the_table_and_the_same_command_only_shows_it(place, capsys):
    assert cli.main(arguments(place, "rift-figure2")) == 0
    first = capsys.readouterr()
    assert "(a) Distance over the training" in first.out
    assert re.search(r"Standard +measured +0\.\d+", first.out)
    assert "tokens 16 instead of 300" in " ".join(first.out.split())
    assert "cell 4 of 4" in first.err
    assert (place / "out" / "rift-figure2" / "report.html").is_file()
    assert cli.main(arguments(place, "rift-figure2", "--json")) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["missing"] == 0
    assert again["reproduction"] == "rift-figure2"
    entry = again["tables"][0]["entries"][0]
    assert entry["measured"]["value"] > 0


def test_a_task_that_is_not_there_is_told_and_the_command_ends_with_1(place, tmp_path, capsys):
    """No cell can be run here; each is reported, and the table is printed all the same."""
    (tmp_path / "data").mkdir()
    words = [*arguments(place, "rift-figure2"), "--data", str(tmp_path / "data")]
    assert cli.main([*words, "--output", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert "4 cells could not be finished" in told.err
    assert "Could not be finished:" in told.out
    assert "RIFT, imdb, seed 0 failed: " in " ".join(told.out.split())


def test_an_output_that_cannot_be_written_is_refused_before_a_cell_is_run(place, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    words = arguments(place, "rift-figure2")
    assert cli.main([*words, "--output", str(tmp_path / "file" / "out")]) == 2
    told = capsys.readouterr().err
    assert "is a file, and nothing can be written in it" in " ".join(told.split())
    assert "cell 1" not in told


def test_a_folder_of_another_model_is_refused(place, tmp_path, capsys):
    words = [*arguments(place, "imbert-propositions"), "--output", str(tmp_path / "out")]
    assert cli.main(words) == 0
    shutil.copytree(place / "model", tmp_path / "copy")
    elsewhere = (place / "data" / ".." / "model", "name it as then")
    for model, advice in (elsewhere, (tmp_path / "copy", "choose another output folder")):
        assert cli.main([*words, "--model", str(model)]) == 2
        assert advice in " ".join(capsys.readouterr().err.split())


def test_a_record_is_run_again(place, tmp_path, capsys):
    assert cli.main(arguments(place, "imbert-propositions")) == 0
    record = place / "out" / "records" / "pre-trained" / "0" / "propositions.json"
    capsys.readouterr()
    words = ["reproduce", "--from-record", str(record), "--output", str(tmp_path)]
    assert cli.main([*words, "--budget", "tiny"]) == 0
    told = capsys.readouterr().out
    assert "growth ImplicitEuler" in told
    assert "no interval" in told
    assert cli.main([*words, "--budget", "tiny", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert [m["now"] for m in metrics] == pytest.approx([m["value"] for m in metrics])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["imbert-table9"], "no reproduction 'imbert-table9'"),
        (["imbert-table1", "--budget", "huge"], "small or full"),
        (["imbert-table1", "--shard", "3/2"], "shard 3/2 does not exist"),
        (["imbert-table1", "--seeds", "1", "1"], "each once"),
        (["imbert-table1", "--attacked", "0"], "--attacked is 0"),
        (["imbert-table1", "--data", "nowhere"], "data folder nowhere does not exist"),
        (["imbert-table1", "--model", "./nowhere"], "nowhere"),
        (["--from-record", "nowhere.json"], "nowhere.json cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(words, said, place, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
