"""The columns of a file: named, remembered from training, or the usual ones."""

import json
from pathlib import Path

import pytest
from train_tiny import write_checkpoint, write_csv

from holdfast.cli import main
from holdfast.commands.columns import find_label, find_texts, refuse_another_number
from holdfast.errors import InputError
from holdfast.record import read_record
from holdfast.text import TextSettings

TRAINED = TextSettings(16, texts=("review",), label="verdict")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A checkpoint's folder that remembers the columns `review` and `verdict`."""
    (tmp_path / "model").mkdir()
    TRAINED.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def own(tmp_path: Path):
    """Writes a file with the given header."""

    def write(header: str) -> Path:
        file = tmp_path / "own.csv"
        row = ",".join("good" for _ in header.split(","))
        file.write_text(f"{header}\n{row}\n")
        return file

    return write


@pytest.mark.parametrize(
    ("header", "texts", "label"),
    [
        ("review,verdict", ("review",), "verdict"),
        ("text,label", ("text",), "label"),  # another file than it was trained on
        ("review,label", ("review",), "label"),
        ("other,third", ("review",), "verdict"),  # the error then names what it looked for
    ],
)
def test_what_the_model_was_trained_on_is_looked_for_first(model, own, header, texts, label):
    file = own(header)
    assert (find_texts((), [model], file), find_label(None, [model], file)) == (texts, label)


def test_another_column_than_the_trained_one_is_told(model, own, capsys):
    find_texts((), [model], own("text,label"))
    said = " ".join(capsys.readouterr().err.split())
    assert "does not have what was trained on (review); read is its column text" in said
    find_texts((), [model], own("review,label"))
    find_texts(("label",), [model], own("text,label"))  # as it was told to
    assert not capsys.readouterr().err
    find_label(None, [model], own("review,label"))
    said = " ".join(capsys.readouterr().err.split())
    assert "not have what was trained on (verdict); read is its column label" in said
    assert "with --label" in said
    find_label("label", [model], own("review,label"))
    assert not capsys.readouterr().err


def test_single_texts_are_no_pairs_and_pairs_no_single_texts(model, tmp_path):
    refuse_another_number(1, [model])
    with pytest.raises(InputError, match=r"single texts \(review\) and is given pairs; name one"):
        refuse_another_number(2, [model])
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    TextSettings(16, texts=("premise", "hypothesis")).save(pairs)
    refuse_another_number(2, [pairs])
    with pytest.raises(InputError, match=r"pairs \(premise, hypothesis\) and is given single"):
        refuse_another_number(1, [pairs])
    refuse_another_number(1, [tmp_path])  # nothing is known of it


@pytest.mark.parametrize("command", [["attack", "--text", "fine"], ["attack", "--file"]])
def test_an_attack_on_another_number_of_texts_is_refused(command, own, tmp_path, capsys):
    model = tmp_path / "pairs"
    write_checkpoint(model)
    TextSettings(16, texts=("premise", "hypothesis"), label="verdict").save(model)
    texts = ["--texts", "text"] if command[-1] == "--file" else []
    file = [str(own("text,verdict"))] if texts else []
    code = main([*command, *file, *texts, "--model", str(model), "--attack", "deepwordbug"])
    assert code == 2
    assert "was trained on pairs (premise, hypothesis)" in " ".join(capsys.readouterr().err.split())


def test_what_is_named_counts(model, own):
    file = own("review,verdict")
    assert find_texts(("verdict",), [model], file) == ("verdict",)
    assert find_label("review", [model], file) == "review"


def test_a_model_of_pairs_reads_no_single_texts(tmp_path, own):
    TextSettings(16, texts=("premise", "hypothesis"), label="label").save(tmp_path)
    assert find_texts((), [tmp_path], own("text,label")) == ("premise", "hypothesis")


def test_models_of_different_columns_are_not_compared_on_one_of_them(model, tmp_path, own):
    other = tmp_path / "other"
    other.mkdir()
    TextSettings(16, texts=("title",), label="verdict").save(other)
    file = own("review,title,verdict")
    with pytest.raises(InputError, match="review and title"):
        find_texts((), [model, other], file)
    assert find_texts(("title",), [model, other], file) == ("title",)
    assert find_label(None, [model, other], file) == "verdict"


def test_a_model_that_remembers_none_follows_one_that_does(model, tmp_path, own):
    bare = tmp_path / "bare"
    bare.mkdir()
    assert find_texts((), [bare, model], own("review,verdict")) == ("review",)


@pytest.mark.parametrize("settings", [None, TextSettings(16)])  # of other making, or early
def test_a_model_that_remembers_none_reads_the_usual_columns(tmp_path, own, settings):
    if settings is not None:
        settings.save(tmp_path)
    file = own("review,verdict")
    assert find_texts((), [tmp_path], file) == ("text",)
    assert find_label(None, [tmp_path], file) == "label"


def test_the_columns_of_training_need_not_be_named_again(tmp_path, capsys):
    """From the file to a model, and back to a file, through the commands."""
    data = write_csv(tmp_path / "data.csv", 40)
    data.write_text(data.read_text().replace("text,label", "review,verdict", 1))
    trained = ["--data.texts", "review", "--data.label", "verdict", "--data.max_length", "16"]
    fast = ["--optimisation.epochs", "1", "--output", str(tmp_path / "run")]
    base = ["--model", str(write_checkpoint(tmp_path / "base")), "--data.file", str(data)]
    assert main(["train", *base, *trained, *fast]) == 0
    used = ["--model", str(tmp_path / "run" / "model"), "--file", str(data)]
    capsys.readouterr()
    assert main(["predict", *used, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    lexicon = tmp_path / "lexicon.json"
    lexicon.write_text('{"good": ["bad"], "bad": ["good"]}')
    attacked = ["--lexicon", str(lexicon), "--output", str(tmp_path / "found.jsonl")]
    assert main(["attack", *used, *attacked]) == 0
    record = read_record(tmp_path / "found.json")
    assert (record.config["texts"], record.config["label"]) == (["review"], "verdict")
    assert record.labels == ("bad", "good")
    capsys.readouterr()
    quick = ["--attacks", "--adaptive", "false", "--examples", "4"]
    models = ["--models", str(tmp_path / "run" / "model"), "--file", str(data)]
    assert main(["evaluate", *models, *quick, "--output", str(tmp_path / "results")]) == 0


def test_a_model_of_a_task_remembers_its_columns(tmp_path, capsys):
    """One of pairs, such as SNLI's, is asked for pairs."""
    folder = tmp_path / "data" / "snli"
    folder.mkdir(parents=True)
    rows = [
        {"premise": f"a man {n}", "hypothesis": f"a woman {n}", "label": n % 3} for n in range(30)
    ]
    for split in ("train", "validation", "test"):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = ["--model", str(write_checkpoint(tmp_path / "base")), "--data.task", "snli"]
    where = ["--data.folder", str(tmp_path / "data"), "--output", str(tmp_path / "run")]
    few = ["--optimisation.epochs", "1", "--data.max_length", "16"]
    assert main(["train", *base, *where, *few]) == 0
    model = ["--model", str(tmp_path / "run" / "model")]
    capsys.readouterr()
    assert main(["predict", *model, "--file", str(folder / "test.jsonl"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["texts"] == ["a man 0", "a woman 0"]
    assert main(["predict", *model, "a man"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "trained on pairs (premise, hypothesis) and is given single texts" in told
