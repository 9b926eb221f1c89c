"""`holdfast predict` end to end on a tiny model: texts, files, pairs, and bad input."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from train_tiny import model, tokenizer, write_checkpoint, write_csv

from holdfast.cli import main
from holdfast.commands.predict import INTERFACE
from holdfast.data.rows import read_rows
from holdfast.implicit import Connection, ImplicitEuler, connect, load, save
from holdfast.text import CanonicalMap, Lexicon, TextSettings, Wording

TEXTS = ["the film was great", "a dull and very cold story", "fine"]


def trained(folder: Path, connection: Connection | None = None) -> Path:
    classifier = model(seed=3)
    classifier.config.id2label = {0: "bad", 1: "good"}
    torch.nn.init.normal_(classifier.classifier.weight, std=3.0)
    if connection is not None:
        connect(classifier, connection)
    save(classifier, folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("predict") / "plain")


def call(capsys: pytest.CaptureFixture[str], argv: Sequence[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["predict", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answers(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict]:
    code, out, err = call(capsys, [*argv, "--json"])
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def expected(folder: Path, *texts: list[str]) -> list[list[float]]:
    batch = tokenizer()(*texts, return_tensors="pt", padding=True)
    names = ("input_ids", "attention_mask", "token_type_ids")
    with torch.no_grad():
        logits = load(folder).eval()(**{n: batch[n] for n in names if n in batch}).logits
    return logits.softmax(-1).tolist()


def test_it_gives_the_labels_and_probabilities_of_the_model(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answers(capsys, "--model", str(plain), *TEXTS, "--batch_size", "2")
    assert [answer["texts"] for answer in found] == [[text] for text in TEXTS]
    for answer, row in zip(found, expected(plain, TEXTS), strict=True):
        assert list(answer["probabilities"]) == ["bad", "good"]
        assert list(answer["probabilities"].values()) == pytest.approx(row, abs=1e-5)
        assert answer["probability"] == max(answer["probabilities"].values())
        assert answer["label"] == ("good" if row[1] > row[0] else "bad")


def test_the_connection_of_the_checkpoint_is_applied(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained(tmp_path / "connected", Connection(scheme=ImplicitEuler(), on_failure="keep"))
    row = list(answers(capsys, "--model", str(folder), TEXTS[0])[0]["probabilities"].values())
    assert row == pytest.approx(expected(folder, TEXTS[:1])[0], abs=1e-5)
    assert row != pytest.approx(expected(plain, TEXTS[:1])[0], abs=1e-3)


def test_the_table_shows_label_probability_and_text(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, [*TEXTS, "--model", str(plain)])
    assert (code, err) == (0, "")
    header, _, *rows = out.splitlines()
    assert header.split() == ["label", "probability", "text"]
    assert [row.split(maxsplit=2)[2] for row in rows] == TEXTS


def test_a_file_is_read_with_a_bar_on_stderr(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_csv(tmp_path / "reviews.csv", 5)
    code, out, err = call(capsys, ["--model", str(plain), "--file", str(file), "--json"])
    assert code == 0
    assert len(out.splitlines()) == 5
    assert "texts: 100%" in err


def test_a_file_among_the_texts_is_no_text(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_csv(tmp_path / "reviews.csv", 5)
    code, out, err = call(capsys, ["--model", str(plain), str(file)])
    assert (code, out) == (2, "")
    assert f"give it as --file {file}" in err
    assert len(answers(capsys, "--model", str(plain), "film " * 500 + "see a.csv")) == 1


def test_pairs_come_from_two_columns(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"premise": "the film", "hypothesis": "was dull"}\n')
    argv = ["--model", str(plain), "--file", str(file), "--texts", "premise", "hypothesis"]
    (answer,) = answers(capsys, *argv)
    assert answer["texts"] == ["the film", "was dull"]
    row = expected(plain, ["the film"], ["was dull"])[0]
    assert list(answer["probabilities"].values()) == pytest.approx(row, abs=1e-5)


def test_texts_may_stand_anywhere_and_after_two_dashes() -> None:
    options, given = INTERFACE.read(["a b", "--model", "m", "c", "--json", "d", "--", "--e"])
    assert (options.text, str(options.model)) == (("a b", "c", "d", "--e"), "m")
    assert given == {"json"}


def test_a_long_text_is_cut_to_what_the_model_reads(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (answer,) = answers(capsys, "--model", str(plain), "film " * 500)
    assert answer["label"] in ("bad", "good")
    assert "..." in call(capsys, ["--model", str(plain), "film " * 500])[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["no text", "--file"]),
        ([" "], ["empty"]),
        (["half \ud800"], ["surrogate"]),
        (["x", "--model", "nowhere"], ["nowhere"]),
        (["x", "--max_length", "2"], ["length of 2", "3 or more"]),
        (["x", "--max_length", "0"], ["max_length"]),
        (["x", "--batch_size", "0"], ["batch_size"]),
        (["x", "--modle", "m"], ["--modle", "--model"]),
        (["--file", "nowhere.csv"], ["nowhere.csv"]),
        (["--file", "FILE", "--texts", "words"], ["line 1 (the header)", "'words'", "'text'"]),
        (["--file", "FILE", "--texts", "a", "b", "c"], ["3 columns"]),
        (["x", "--file", "FILE", "--texts", "text", "label"], ["mixed"]),
        (["x", "--output", "labels.txt"], ["'.txt'", ".csv or .jsonl"]),
        (["x", "--output", "labels.csv", "--json"], ["leave one of them out"]),
        (["--file", "FILE", "--output", "FILE"], ["is the file that is read"]),
        (["x", "--output", "FOLDER.csv"], ["FOLDER.csv is a folder", "name a file in it"]),
        (["x", "--output", "FILE/a/labels.csv"], ["reviews.csv is a file", "in a folder"]),
        (["x", "--output", f"{'a' * 250}.csv"], ["cannot be written", "File name too long"]),
        (["x", "--output", f"{'a' * 300}.csv"], ["cannot be written", "File name too long"]),
        (["x", "--max_length", "33"], ["--max_length is 33", "at most 32"]),
    ],
)
def test_bad_input_is_one_sentence(
    argv: list[str],
    words: list[str],
    plain: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(write_csv(tmp_path / "reviews.csv", 3))
    (tmp_path / "FOLDER.csv").mkdir()
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    given = [word.replace("FILE", file) for word in argv]
    code, out, err = call(capsys, ["--model", str(plain), *given])
    assert (code, out) == (2, "")
    assert err.startswith("holdfast: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words), err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_model_that_was_never_trained_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_checkpoint(tmp_path / "encoder")
    code, out, err = call(capsys, ["--model", str(folder), "fine"])
    assert (code, out) == (2, "")
    assert "no trained classifier" in err


def test_a_model_without_its_tokenizer_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(model(), tmp_path)
    code, out, err = call(capsys, ["--model", str(tmp_path), "fine"])
    assert (code, out) == (2, "")
    assert "holds no tokenizer" in err


def test_an_answer_that_is_no_number_is_no_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = model()
    torch.nn.init.constant_(broken.classifier.bias, torch.nan)
    save(broken, tmp_path)
    tokenizer().save_pretrained(tmp_path)
    code, out, err = call(capsys, ["--model", str(tmp_path), "fine", "--json"])
    assert (code, out) == (1, "")
    assert "answer to 'fine' is no number" in " ".join(err.split())


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_the_rows_of_a_file_come_back_with_their_labels(
    suffix: str, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.csv", tmp_path / f"labelled{suffix}"
    file.write_text('id,text\n7,"a dull, ""cold"" story"\n8,"café,\nfine"\n', encoding="utf-8")
    shared = ["--model", str(plain), "--file", str(file)]
    code, out, err = call(capsys, [*shared, "--output", str(output)])
    assert (code, out) == (0, f"Wrote {output}: 2 rows, the label of each in 'predicted'.\n"), err
    rows = [dict(row.values) for row in read_rows(output)]
    assert [(row["id"], row["text"]) for row in rows] == [
        ("7", 'a dull, "cold" story'),
        ("8", "café,\nfine"),
    ]
    for row, answer in zip(rows, answers(capsys, *shared), strict=True):
        assert row["predicted"] == answer["label"]
        assert float(row["probability"]) == pytest.approx(answer["probability"], abs=1e-5)
        of_each = pytest.approx(answer["probabilities"], abs=1e-5)
        assert row.get("probabilities") == (of_each if suffix == ".jsonl" else None)
    code, _, err = call(capsys, ["--model", str(plain), "--file", str(output), "--output", "x.csv"])
    assert code == 2
    assert "has a column 'predicted' already" in " ".join(err.split())


def test_rows_that_are_not_texts_become_fields(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.jsonl", tmp_path / "new folder" / "labelled.csv"
    file.write_text('{"text": "fine", "tags": ["a", "b"], "seen": true, "by": null, "n": 3}\n')
    code, _, err = call(
        capsys, ["--model", str(plain), "--file", str(file), "--output", str(output)]
    )
    assert code == 0, err
    (row,) = read_rows(output)
    assert [row.values[name] for name in ("tags", "by", "n")] == ['["a", "b"]', "", "3"]


def test_a_table_with_several_unnamed_columns_is_not_labelled(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.csv", tmp_path / "labelled.csv"
    file.write_text(",text,,\n1,fine,a,b\n")
    shared = ["--model", str(plain), "--file", str(file)]
    code, _, err = call(capsys, [*shared, "--output", str(output)])
    assert code == 2
    assert "has 3 columns without a name" in " ".join(err.split())
    assert not output.exists()
    assert call(capsys, shared)[0] == 0  # nothing is lost where nothing is written
    file.write_text(",text\n1,fine\n")
    assert call(capsys, [*shared, "--output", str(output)])[0] == 0
    assert next(iter(read_rows(output))).values[""] == "1"


def test_half_a_character_in_another_column_is_kept_or_refused_before_the_work(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.jsonl", tmp_path / "labelled.jsonl"
    file.write_text(
        '{"text": "fine", "by": ["bob \\ud83d"]}\n{"text": "café", "by": "é"}\n',
        encoding="utf-8",
    )
    shared = ["--model", str(plain), "--file", str(file), "--output"]
    code, _, err = call(capsys, [*shared, str(output)])
    assert code == 0, err
    first, second = (row.values for row in read_rows(output))
    assert (first["by"], second["by"]) == (["bob \ud83d"], "é")
    assert "café" in output.read_text(encoding="utf-8")
    code, _, err = call(capsys, [*shared, str(tmp_path / "labelled.csv")])
    assert code == 2
    assert "'by'" in err
    assert ".jsonl" in err
    assert "texts:" not in err  # no model was run


def test_a_text_may_be_as_long_as_the_model_reads_whatever_it_was_trained_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained(tmp_path / "model")
    unlimited = tokenizer()
    unlimited.model_max_length = 10**30
    unlimited.save_pretrained(folder)
    TextSettings(64).save(folder)  # of texts that were all short
    assert len(answers(capsys, "--model", str(folder), "film " * 50)) == 1


@pytest.mark.parametrize(
    ("columns", "argv", "words"),
    [
        (("premise", "hypothesis"), ["fine"], ["pairs (premise, hypothesis)", "single texts"]),
        (("review",), ["--file", "FILE", "--texts", "text", "label"], ["single texts", "pairs"]),
    ],
)
def test_texts_are_as_many_as_in_training_where_that_is_known(
    columns: tuple[str, ...],
    argv: list[str],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, file = trained(tmp_path / "model"), write_csv(tmp_path / "reviews.csv", 3)
    given = ["--model", str(folder), *(word.replace("FILE", str(file)) for word in argv)]
    assert call(capsys, given)[0] == 0
    TextSettings(16, texts=columns).save(folder)
    code, out, err = call(capsys, given)
    assert (code, out) == (2, "")
    assert all(word in " ".join(err.split()) for word in words), err


@pytest.mark.parametrize(
    ("outputs", "kind", "words"),
    [
        (2, "multi_label_classification", "several labels at once"),
        (2, "regression", "a number"),
        (1, None, "a number"),
    ],
)
def test_a_model_that_does_not_choose_one_of_several_labels_is_refused(
    outputs: int,
    kind: str | None,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    classifier = model()
    classifier.config.num_labels, classifier.config.problem_type = outputs, kind
    classifier.classifier = torch.nn.Linear(16, outputs)
    save(classifier, tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    code, out, err = call(capsys, ["--model", str(tmp_path / "model"), "fine"])
    assert (code, out) == (2, "")
    assert f"answers with {words}" in " ".join(err.split())


def test_all_empty_rows_are_counted(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.csv"
    file.write_text("id,text\n1,fine\n2,\n3, \n")
    code, _, err = call(capsys, ["--model", str(plain), "--file", str(file)])
    assert code == 2
    said = " ".join(err.split())
    assert "line 3" in said
    assert "2 of 3 rows" in said


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_row_without_a_text_is_kept_and_has_no_label(
    suffix: str, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.csv", tmp_path / f"labelled{suffix}"
    file.write_text("id,text\n1,fine\n2,\n3,dull\n4, \n")
    options = ["--model", str(plain), "--file", str(file), "--output", str(output)]
    code, out, err = call(capsys, options)
    assert code == 0, err
    assert "4 rows" in out
    assert "note: rows without a text, and so without a label: 2." in err
    assert err.index("100%") < err.index("note:")  # the bar has ended
    rows = [row.values for row in read_rows(output)]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert [bool(row["predicted"]) for row in rows] == [True, False, True, False]
    file.write_text("id,text\n1,\n")
    code, _, err = call(capsys, options)
    assert code == 2  # a file of empty rows is a mistake
    assert "line 2: the text in column 'text' is empty" in " ".join(err.split())


def test_a_row_of_json_that_lacks_its_text_is_kept_as_it_was(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "new.jsonl", tmp_path / "labelled.csv"
    file.write_text('{"id": 1, "text": "fine"}\n{"id": 2, "text": null}\n{"id": 3}\n')
    code, _, err = call(
        capsys, ["--model", str(plain), "--file", str(file), "--output", str(output)]
    )
    assert code == 0, err
    rows = [row.values for row in read_rows(output)]
    assert [row["text"] for row in rows] == ["fine", "", ""]
    assert [bool(row["predicted"]) for row in rows] == [True, False, False]


def test_words_that_the_model_reads_as_others_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained(tmp_path / "model")
    lexicon = Lexicon({"film": ("movie",), "movie": ("film",)}, "test", "")
    Wording(canonical=CanonicalMap.fit(["a film film movie"], lexicon, rounds=1)).save(folder)
    code, out, err = call(capsys, ["--model", str(folder), "A Movie, a movie", "a film"])
    assert code == 0
    assert "note: the model read a word as another 2 times (Movie as Film, movie as film)" in err
    assert "Movie" in out  # the texts are shown as they were given
