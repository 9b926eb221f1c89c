"""`holdfast attack` end to end on a tiny model."""

import json
import shutil
from pathlib import Path

import attack_aids as aids
import pytest
import text_tokenizers as kinds
from attack_tiny import labelled, model, sentences, victim
from evaluate_tiny import run_json, write_data, write_run

from holdfast.attack import Material
from holdfast.cli import main
from holdfast.commands.attack import AttackOptions
from holdfast.evaluate import Checkpoint, Suite, evaluate
from holdfast.record import decode, find_records, read_record
from holdfast.text import CanonicalMap


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A classifier, a lexicon and a labelled file."""
    folder, tokenizer = tmp_path_factory.mktemp("attack"), kinds.wordpiece()
    model(tokenizer).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    (folder / "lexicon.json").write_text(kinds.LEXICON.json())
    data = labelled(victim(tokenizer), sentences(20))
    lines = [json.dumps({"text": e.texts[0], "label": e.label}) for e in data]
    (folder / "data.jsonl").write_text("\n".join(lines))
    (folder / "sst2").mkdir()
    named = [json.dumps({"sentence": e.texts[0], "label": e.label}) for e in data]
    (folder / "sst2" / "validation.jsonl").write_text("\n".join(named))
    return folder


def call(capsys, folder: Path, *extra: str) -> tuple[int, str, str]:
    capsys.readouterr()
    fixed = ["--model", str(folder / "model"), "--lexicon", str(folder / "lexicon.json")]
    code = main(["attack", *fixed, *extra])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_examples_are_drawn_from_those_that_allowed_sets_know(folder, tmp_path, capsys) -> None:
    """Of a run's folder, as the rest of it: its model is meant."""
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]
    known = [row["text"] for row in rows[::4]]
    sets = tmp_path / "sets.json"
    sets.write_text(json.dumps({text: {"0": ["other"]} for text in known}))
    argv = ["attack", "--model", str(folder), "--file", str(folder / "data.jsonl")]
    argv += ["--attack", "genetic_jia", "--allowed_sets", str(sets), "--examples", "3"]
    assert main([*argv, "--output", str(tmp_path / "found.jsonl")]) == 0
    assert f"drawn from the {len(known)} of {len(rows)} examples" in capsys.readouterr().err
    lines = (tmp_path / "found.jsonl").read_text().splitlines()[1:]
    assert len(lines) == 3
    assert {json.loads(line)["texts"][0] for line in lines} <= set(known)


def test_a_file_is_attacked_and_the_outcomes_written(folder: Path, tmp_path: Path, capsys) -> None:
    output = tmp_path / "found.jsonl"
    extra = ["--file", str(folder / "data.jsonl"), "--output", str(output)]
    code, out, err = call(capsys, folder, *extra)
    assert code == 0, err
    assert "accuracy under attack" in out
    assert f"with the words of {folder / 'lexicon.json'}" in " ".join(out.split())
    assert "queries" in err
    lines = output.read_text().splitlines()
    assert len(lines) == 21
    before = output.read_bytes()
    code, again, _ = call(capsys, folder, *extra, "--in-flight", "3", "--json")
    assert code == 0
    assert output.read_bytes() == before
    found = json.loads(again)
    assert found["summary"]["accuracy"]["count"] == 16
    statuses = [json.loads(line)["status"] for line in lines[1:]]
    assert found["summary"]["success_rate"]["count"] == statuses.count("succeeded") > 2
    assert out.count("The attack succeeded") == 2  # the first few are shown, all are in the file
    changed = json.loads(lines[1 + statuses.index("succeeded")])["changes"][0]
    assert f"[{changed['old']} -> {changed['new']}]" in out


def test_texts_that_were_trained_on_are_told(folder: Path, tmp_path: Path, capsys) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    record = run_json(0, "own")
    record["config"]["data"] = {"file": str(run / "data.jsonl"), "texts": ["text"]}
    (run / "run.json").write_text(json.dumps(record))
    extra = ["--file", str(run / "data.jsonl"), "--output", str(tmp_path / "found.jsonl")]
    for _ in range(2):  # resumed, it is told again and noted once
        code, _, err = call(capsys, run, *extra)
        assert code == 0, err
        assert "note: The model was trained on a part of this very file" in err
    notes = read_record(tmp_path / "found.json").notes
    assert len([note for note in notes if "this very file" in note]) == 1


def test_a_finished_record_keeps_its_numbers_whatever_is_known_of_leaks(
    folder: Path, tmp_path: Path, capsys
) -> None:
    run = tmp_path / "run(1)"  # no name for a row of a table, and a model all the same
    shutil.copytree(folder, run)
    extra = ["--file", str(run / "data.jsonl"), "--output", str(tmp_path / "found.jsonl")]
    assert call(capsys, run, *extra)[0] == 0
    first = read_record(tmp_path / "found.json")
    record = run_json(0, "own")
    record["config"]["data"] = {"file": str(run / "data.jsonl"), "texts": ["text"]}
    (run / "run.json").write_text(json.dumps(record))
    assert call(capsys, run, *extra)[0] == 0
    (leak,) = set(read_record(tmp_path / "found.json").notes) - set(first.notes)
    assert "this very file" in leak
    (run / "run.json").unlink()
    assert call(capsys, run, *extra)[0] == 0
    last = read_record(tmp_path / "found.json")
    assert last.seconds == first.seconds
    assert last.notes == (*first.notes, leak)


def test_outcomes_that_do_not_hold_are_attacked_again(folder: Path, tmp_path: Path, capsys) -> None:
    output = tmp_path / "found.jsonl"
    extra = ["--file", str(folder / "data.jsonl"), "--output", str(output)]
    assert call(capsys, folder, *extra)[0] == 0
    before = output.read_bytes()
    header, first, *rest = output.read_text().splitlines()
    wrong = json.loads(first) | {"words": 99}
    output.write_text("\n".join([header, json.dumps(wrong), *rest]) + "\n")
    code, _, err = call(capsys, folder, *extra)
    assert code == 1
    assert f"They were moved to {tmp_path / 'found.refused'}" in " ".join(err.split())
    assert call(capsys, folder, *extra)[0] == 0
    assert output.read_bytes() == before


def test_a_training_file_of_somebody_else_is_no_obstacle(
    folder: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    def refuses(file: Path) -> str:
        raise PermissionError(13, "Permission denied", str(file))

    run = tmp_path / "run"
    shutil.copytree(folder, run)
    record = run_json(0, "own")
    record["config"]["data"] = {"file": str(run / "data.jsonl"), "texts": ["text"]}
    (run / "run.json").write_text(json.dumps(record))
    monkeypatch.setattr("holdfast.evaluate.leaks.checksum", refuses)
    code, _, err = call(capsys, run, "--file", str(run / "data.jsonl"))
    assert code == 0, err


def test_the_record_lies_beside_the_outcomes(folder: Path, tmp_path: Path, capsys) -> None:
    output = tmp_path / "found.jsonl"
    extra = ["--file", str(folder / "data.jsonl"), "--output", str(output)]
    assert call(capsys, folder, *extra)[0] == 0
    found = find_records([tmp_path])
    ((path, record),) = found.records
    assert (found.problems, path) == ((), tmp_path / "found.json")
    assert (record.attack, record.task, record.outcomes) == ("pwws_rift", "data", "found.jsonl")
    assert record.metric("accuracy").count == 16
    assert record.metric("accuracy").chance == 0.5
    assert decode(AttackOptions, record.config).output == output
    assert (record.device, record.seconds > 0, record.notes) == ("cpu", True, ())
    assert record.environment["packages"]["torch"]
    before = path.read_bytes()
    assert call(capsys, folder, *extra)[0] == 0
    assert path.read_bytes() == before  # its seconds are those of the attack, not of reading it
    assert main(["report", str(tmp_path), "--output", str(tmp_path / "page")]) == 0
    assert r"pwws\_rift" in (tmp_path / "page" / "report.md").read_text()


def test_a_file_that_is_no_record_is_not_overwritten(folder: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "found.json").write_text("{}")
    extra = ["--file", str(folder / "data.jsonl"), "--output", str(tmp_path / "found.jsonl")]
    code, _, err = call(capsys, folder, *extra)
    assert (code, "holds something else" in err) == (2, True)
    assert not (tmp_path / "found.jsonl").exists()
    extra = ["--file", str(folder / "data.jsonl"), "--output", str(tmp_path / "other.json")]
    assert call(capsys, folder, *extra)[0] == 0
    assert (tmp_path / "other.record.json").is_file()


def test_the_labels_of_a_task_are_those_of_the_model(tmp_path: Path, capsys) -> None:
    """An attack and an evaluation agree about a model that has its labels in another order."""
    data = write_data(tmp_path / "data")
    run = write_run(tmp_path / "run", labels=("positive", "negative"))
    extra = ["--task", "sst2", "--data", str(data), "--output", str(tmp_path / "out" / "x.jsonl")]
    fixed = ["--model", str(run / "model"), "--lexicon", str(data / "lexicon.json")]
    assert main(["attack", *fixed, *extra]) == 0, capsys.readouterr().err
    attacked = read_record(tmp_path / "out" / "x.json")
    fast = {"cost": False, "stability": False, "adaptive": False}
    suite = Suite(
        ("sst2",), data=data, material=Material(lexicon=data / "lexicon.json"), attacks=(), **fast
    )
    (clean,) = evaluate(Checkpoint.read(str(run)), suite, tmp_path / "results")
    assert attacked.marks["accuracy"] == clean.marks["accuracy"]
    assert attacked.checksums["data"] == clean.checksums["data"]
    assert attacked.checksums["model"] == clean.checksums["model"]
    assert (attacked.model, attacked.seed) == (clean.model, clean.seed) == ("run", 0)


def test_processes_share_the_examples(folder: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    extra = ["--file", str(folder / "data.jsonl"), "--attack", "genetic_jia"]
    code, _, err = call(capsys, folder, *extra, "--output", str(tmp_path / "one.jsonl"))
    assert code == 0, err
    monkeypatch.setenv("WORLD_SIZE", "2")
    code, _, err = call(capsys, folder, *extra)
    assert (code, "give --output" in err) == (2, True)
    printed = []
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        code, out, err = call(capsys, folder, *extra, "--output", str(tmp_path / "two.jsonl"))
        assert code == 0, err
        printed.append(bool(out))
    assert printed == [False, True]
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


def test_a_task_is_attacked(folder: Path, capsys) -> None:
    extra = ["--task", "sst2", "--data", str(folder), "--examples", "6", "--attack", "beam"]
    code, out, err = call(capsys, folder, *extra, "--json")
    assert code == 0, err
    assert json.loads(out)["summary"]["examples"] == 6


def test_one_sentence_shows_its_changed_words(folder: Path, capsys) -> None:
    texts = ["a bad film was good", "?!"]
    code, out, err = call(capsys, folder, "--attack", "beam", "--text", *texts)
    assert code == 0, err
    assert " -> " in out
    assert "[" in out
    assert "no word has a substitute" in out


def test_a_masked_model_may_be_named(folder: Path, tmp_path: Path, capsys) -> None:
    aids.masked(tmp_path / "masked")
    argv = ["attack", "--model", str(folder / "model"), "--attack", "bert_attack", "--text", "film"]
    assert main([*argv, "--masked-model", str(tmp_path / "masked")]) == 0
    assert main(argv) == 2
    assert "needs a masked language model" in capsys.readouterr().err


def test_a_target_may_be_named(folder: Path, capsys) -> None:
    found = []
    for target in ("0", "1"):
        code, out, err = call(capsys, folder, "--text", "a bad film", "--target", target, "--json")
        assert code == 0, err
        (outcome,) = json.loads(out)["outcomes"]
        found.append(outcome["status"] == "untouched")  # it has that class already
    assert sorted(found) == [False, True]


def test_a_lower_score_may_be_the_goal(folder: Path, capsys) -> None:
    extra = ["--text", "a bad film was good", "--attack", "beam", "--below", "0.99", "--json"]
    code, out, err = call(capsys, folder, *extra)
    assert code == 0, err
    (outcome,) = json.loads(out)["outcomes"]
    label = outcome["prediction"]
    assert outcome["status"] == "succeeded"
    assert outcome["adversarial_probabilities"][label] < 0.99


def test_the_canonical_form_of_a_checkpoint_is_attacked_with_it(folder: Path, capsys) -> None:
    every = dict.fromkeys(("movie", "picture", "cinematograph"), "film")
    CanonicalMap(every, "", 1).save(folder / "model")
    found = []
    try:
        for certify in ("false", "true"):
            how = ("--text", "film film", "--json", "--certify", certify)
            code, out, err = call(capsys, folder, *how)
            assert code == 0, err
            found += json.loads(out)["outcomes"]
    finally:
        (folder / "model" / "canonical.json").unlink()
    searched, proved = found
    # the text, and with either word hidden: all else is the same to the model
    assert (searched["status"], searched["forwards"]) == ("failed", 3)
    assert (proved["status"], proved["forwards"]) == ("certain", 3)


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (["--text", "a", "--attack", "pwws_rif"], "did you mean pwws_rift"),
        (["--text", "a", "--task", "sst2"], "one of --text, --task and --file"),
        ([], "one of --text, --task and --file"),
        (["a film"], "put --text before a sentence"),
        (["--text", "a", "--model", "nowhere"], "no checkpoint folder"),
        (["--text", "a", "--lexicon", "nowhere.json"], "cannot be read"),
        (["--text", "a", "--allowed-sets", "x.json"], "takes no --allowed_sets"),
        (["--text", "a", "--masked-model", "x"], "takes no --masked_model"),
        (["--text", "a", "--max-length", "4000"], "at most 64"),
        (["--text", "a", "--examples", "0"], "expected 1 or more"),
        (["--text", "a", "--in-flight", "0"], "expected 1 or more"),
        (["--text", "a", "--below", "0.4", "--target", "1"], "one of --target and --below"),
        (["--text", "a film", "--target", "2"], "counted from 0"),
        (["--text", "a film", "caf\udce9"], "Text 2 holds bytes that are not UTF-8"),
    ],
)
def test_bad_input_is_one_sentence(extra, sentence: str, folder: Path, capsys) -> None:
    code, out, err = call(capsys, folder, *extra)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.strip().count("\n") == 0


def test_an_encoder_without_a_classifier_is_refused(folder: Path, tmp_path: Path, capsys) -> None:
    tokenizer = kinds.wordpiece()
    model(tokenizer).bert.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    code, _, err = call(capsys, folder, "--model", str(tmp_path), "--text", "a film")
    assert code == 2
    assert "no trained classifier" in err


def test_labels_the_model_does_not_have_are_refused(folder: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "data.csv"
    file.write_text("text,label\na film,7\n")
    code, _, err = call(capsys, folder, "--file", str(file))
    assert code == 2
    assert "7" in err
