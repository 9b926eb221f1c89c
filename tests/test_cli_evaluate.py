"""`holdfast evaluate` end to end on tiny models."""

import json
from pathlib import Path

import pytest
from evaluate_tiny import write_advglue, write_data, write_run

from holdfast.cli import main
from holdfast.record import find_records


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    folder = write_data(tmp_path_factory.mktemp("evaluate"))
    write_run(folder / "plain")
    write_run(folder / "other", seed=3)
    write_run(folder / "named", labels=("bad", "good"), task="reviews")
    write_advglue(folder / "dev_ann.json")
    return folder


def call(capsys, ground: Path, out: Path, *extra: str) -> tuple[int, str, str]:
    capsys.readouterr()
    fixed = ["--lexicon", str(ground / "lexicon.json"), "--data", str(ground)]
    fixed += ["--output", str(out), "--examples", "6", "--models", f"plain={ground / 'plain'}"]
    code = main(["evaluate", *fixed, *extra])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


FAST = ("--adaptive", "false", "--cost", "false", "--stability", "false")


def test_two_models_are_measured_and_compared(ground: Path, tmp_path: Path, capsys) -> None:
    extra = [f"other={ground / 'other'}", "--tasks", "sst2", "--advglue"]
    extra += [str(ground / "dev_ann.json")]
    code, out, err = call(capsys, ground, tmp_path, *extra)
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    assert ["model", "seeds", "clean", "%", "pwws_rift", "%"] in rows
    assert "sst2: 6 examples" in out
    assert "Compared with plain:" in out
    assert "no spread over seeds can be given" in " ".join(out.split())
    assert "corrected for" in out
    for title in ("Attacks", "Adaptive check", "Hidden states moved", "AdvGLUE", "Cost"):
        assert f"\n{title}" in out
    assert "[1/8] plain (seed 0), sst2, clean" in err
    found = find_records([tmp_path])
    assert (len(found.records), found.problems) == (8, ())
    adaptive = {r.model: r for _, r in found.records if r.attack == "adaptive"}
    assert adaptive["plain"].metric("transfer_accuracy") is None
    assert adaptive["other"].metric("transfer_accuracy").total > 0
    assert adaptive["other"].config["reference"] == "plain"
    assert adaptive["other"].checksums["transferred"]
    code, again, err = call(capsys, ground, tmp_path, *extra)
    assert (code, again) == (0, out)
    assert err.count("done before") == 8


def test_a_model_that_knows_nothing_is_marked(ground: Path, tmp_path: Path, capsys) -> None:
    code, out, err = call(capsys, ground, tmp_path, "--tasks", "sst2", *FAST)
    assert code == 0, err
    row = next(line for line in out.splitlines() if line.startswith("plain"))
    assert row.endswith("*")  # under attack
    assert "* no more than always answering the most frequent class" in out
    assert "One training seed only: no spread over seeds can be given." in out


def test_it_fits_a_narrow_terminal(ground: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    extra = [f"other={ground / 'other'}", "--tasks", "sst2", "--attacks", "pwws_rift", "beam"]
    code, out, err = call(capsys, ground, tmp_path, *extra, *FAST)
    assert code == 0, err
    assert max(map(len, out.replace(str(tmp_path), "").splitlines())) <= 60


def test_json_holds_the_metrics_and_the_sentences(ground: Path, tmp_path: Path, capsys) -> None:
    extra = [f"other={ground / 'other'}", "--file", str(ground / "own.csv"), *FAST, "--json"]
    code, out, err = call(capsys, ground, tmp_path, *extra)
    assert code == 0, err
    found = json.loads(out)
    told = [(record["model"], record["attack"]) for record in found["records"]]
    assert told == [(m, a) for m in ("plain", "other") for a in (None, "pwws_rift")]
    assert found["records"][0]["metrics"][0]["name"] == "accuracy"
    assert found["comparisons"][1]["attack"] == "pwws_rift"
    assert "other and plain" in found["comparisons"][1]["sentence"]


def test_the_adaptive_check_may_see_fewer_examples(ground: Path, tmp_path: Path, capsys) -> None:
    extra = ["--tasks", "sst2", "--adaptive-examples", "2", "--cost", "false"]
    code, out, err = call(capsys, ground, tmp_path / "few", *extra)
    assert code == 0, err
    assert "plain (seed 0), sst2, adaptive, 2 examples" in err
    assert "The adaptive check saw 2 of the 6 attacked examples" in " ".join(out.split())
    (record,) = (r for _, r in find_records([tmp_path]).records if r.attack == "adaptive")
    assert record.metric("white_box_accuracy").total == 2
    assert len(record.marks["white_box_accuracy"]) == 2
    extra[3] = "null"
    code, out, err = call(capsys, ground, tmp_path / "all", *extra)
    assert code == 0, err
    assert "adaptive, 6 examples" in err
    assert "The adaptive check saw" not in " ".join(out.split())


def test_no_attack_at_all_may_be_asked_for(ground: Path, tmp_path: Path, capsys) -> None:
    extra = ["--tasks", "sst2", "--clean-examples", "9", "--attacks"]
    code, out, err = call(capsys, ground, tmp_path, *extra)
    assert code == 0, err
    assert len(find_records([tmp_path]).records) == 1
    assert "pwws" not in out
    assert "sst2: 9 examples." in out


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ([], "names nothing to evaluate on"),
        (["--tasks", "sst3"], "no task 'sst3'"),
        (["--tasks", "sst2", "--attacks", "pwws_rif"], "did you mean pwws_rift"),
        (["nowhere", "--tasks", "sst2"], "no checkpoint at nowhere"),
        (["--tasks", "mnli"], "has the labels negative, positive, and no task"),
        (["--tasks", "sst2", "--examples", "0"], "--examples is 0"),
        (["--tasks", "sst2", "--clean-examples", "few"], "--clean_examples is 'few'"),
        (["--tasks", "sst2", "--adaptive-examples", "0"], "--adaptive_examples is 0"),
        (["--tasks", "sst2", "--reference", "rift"], "name one of plain"),
        (["--tasks", "sst2", "--vectors", "x"], "takes vectors"),
        (["--tasks", "sst2", "--lexicon", "nowhere.json"], "cannot be read"),
        (["--file", "nowhere.csv"], "nowhere.csv is not a file"),
        (["--tasks", "sst2", "--data", "nowhere"], "nowhere does not exist"),
        (["--advglue", "nowhere.json"], "nowhere.json cannot be read"),
        (["--tasks", "sst2", "--seeds", "x"], "--seeds"),
        (["--tasks", "sst2", "--seeds", "-1"], "the seed -1; expected seeds of 0 or more"),
        (["--tasks", "sst2", "--max-length", "4000"], "at most 64"),
    ],
)
def test_bad_input_is_one_sentence(extra, sentence: str, ground, tmp_path, capsys) -> None:
    code, out, err = call(capsys, ground, tmp_path / "out", *extra)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "out").exists()


def test_a_file_for_an_output_is_told_before_anything_is_measured(
    ground: Path, tmp_path: Path, capsys
) -> None:
    (tmp_path / "one.csv").write_text("text,label\n")
    code, out, err = call(capsys, ground, tmp_path / "one.csv", "--tasks", "sst2", *FAST)
    assert (code, out) == (2, "")
    assert "one.csv is a file, and nothing can be written in it" in err
    assert err.strip().count("\n") == 0


def test_labels_the_model_does_not_have_are_refused(ground: Path, tmp_path: Path, capsys) -> None:
    extra = [f"named={ground / 'named'}", "--file", str(ground / "own.csv")]
    code, _, err = call(capsys, ground, tmp_path / "out", *extra)
    assert code == 2
    assert "is none of the known ones, bad, good" in err
    assert not (tmp_path / "out").exists()
