"""`holdfast inspect` and `holdfast models` end to end on tiny models."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from train_tiny import model, tokenizer, write_checkpoint
from transformers import AlbertConfig, AlbertModel

from holdfast.cli import main
from holdfast.implicit import Connection, connect, save

TEXTS = ["the film was great", "a dull and very cold story"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model")


@pytest.fixture
def connected_checkpoint(tmp_path: Path) -> Path:
    folder, classifier = tmp_path / "connected", model()
    connect(classifier, Connection(layers="2"))
    save(classifier, folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def albert(tmp_path: Path) -> Path:
    shape = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    config = AlbertConfig(vocab_size=32, embedding_size=8, num_hidden_layers=2, **shape)
    AlbertModel(config).save_pretrained(tmp_path / "albert")
    tokenizer().save_pretrained(tmp_path / "albert")
    return tmp_path / "albert"


def call(capsys: pytest.CaptureFixture[str], argv: Sequence[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def inspected(capsys: pytest.CaptureFixture[str], folder: Path, *extra: str) -> dict:
    argv = ["inspect", "--model", str(folder), "--text", *TEXTS, "--iterations", "20"]
    code, out, err = call(capsys, [*argv, *extra, "--json"])
    assert code == 0, err
    return json.loads(out)["inspection"]


def test_the_tables_say_what_was_found(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["inspect", "--model", str(checkpoint), "--text", *TEXTS, "--preset", "recommended"]
    code, out, err = call(capsys, [*argv, "--iterations", "20"])
    assert code == 0
    assert "bert, 2 layers" in out
    assert "residual before" in out
    assert "by the paper's rule" in out
    assert "gives the same logits" in " ".join(out.split())
    assert "ImplicitEuler" in out
    assert "inspecting: FLOPs" in err


def test_it_fits_a_narrow_terminal(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    argv = ["inspect", "--model", str(checkpoint), "--text", *TEXTS, "--iterations", "20"]
    _, out, _ = call(capsys, argv)
    assert max(map(len, out.splitlines())) <= 50


def test_a_plain_model_has_no_residuals(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = inspected(capsys, checkpoint)
    assert found["connection"] is None
    assert [layer["solve"] for layer in found["layers"]] == [None, None]


def test_a_checkpoint_is_inspected_as_it_was_connected(
    connected_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = inspected(capsys, connected_checkpoint)
    assert [layer["scheme"] for layer in found["layers"]] == ["none", "ImplicitEuler"]


def test_a_connection_of_the_whole_model_stands_in_the_growth_once(
    checkpoint: Path, connected_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = inspected(capsys, checkpoint, "--preset", "recommended")
    whole = [growth["name"] for growth in found["growth"]]
    assert whole == ["none", "Explicit", "ImplicitEuler", "Theta 1", "this connection"]
    some = [growth["name"] for growth in inspected(capsys, connected_checkpoint)["growth"]]
    assert {"ImplicitEuler", "this connection"} <= set(some)


def test_help_tells_what_happens_without_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, ["inspect", "--help"])
    assert "Without --preset and --connection options" in " ".join(out.split())


def test_preset_and_flags_replace_the_connection_of_a_checkpoint(
    connected_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspected(capsys, connected_checkpoint, "--preset", "bert")["connection"] is None
    found = inspected(capsys, connected_checkpoint, "--connection.scheme", "Theta")
    assert [layer["scheme"] for layer in found["layers"]] == ["Theta", "Theta"]


def test_second_order_gets_the_attention_it_needs(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = ["--connection.solver", "Descent", "--connection.gradient", "Unrolled"]
    assert inspected(capsys, checkpoint, *second)["connection"]["gradient"]["type"] == "Unrolled"


def test_output_holds_the_numbers_and_the_pictures(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS) + "\n\n", encoding="utf-8")
    folder = tmp_path / "out" / "deep"
    argv = ["inspect", "--model", str(checkpoint), "--file", str(texts), "--iterations", "20"]
    code, out, err = call(capsys, [*argv, "--output", str(folder), "--json"])
    assert code == 0
    assert json.loads((folder / "inspection.json").read_text()) == json.loads(out)
    assert json.loads(out)["texts"] == TEXTS
    pictures = {"perturbation-growth", "stability-errors", "stability-regions"}
    assert {path.stem for path in folder.glob("*.svg")} == pictures
    assert {path.stem for path in folder.glob("*.png")} == pictures
    assert str(folder / "inspection.json") in err


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ([], ["--text", "--file"]),
        (["--text", " "], ["Text 1 is empty"]),
        (["--text", "fine", "caf\udce9"], ["Text 2 holds bytes that are not UTF-8"]),
        (["--text", "fine", "--connection.layers", "7"], ["does not exist", "1 to 2"]),
        (["--text", "fine", "--connection.layers", "x"], ["'x'"]),
        (["--text", "fine", "--perturbation", "0"], ["perturbation"]),
        (["--file", "nowhere.txt"], ["nowhere.txt"]),
        (["--text", "fine", "--model", "./nowhere"], ["nowhere"]),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    extra: list[str],
    words: list[str],
    checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "out"
    argv = ["inspect", "--model", str(checkpoint), "--output", str(folder), *extra]
    code, out, err = call(capsys, argv)
    told = err.splitlines()[-1]
    assert (code, out) == (2, "")
    assert told.startswith("holdfast: ")
    assert all(word in told for word in words), told
    assert not folder.exists()


def test_texts_in_another_encoding_are_refused(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    argv = ["inspect", "--model", str(checkpoint), "--file", str(tmp_path / "latin.txt")]
    code, _, err = call(capsys, argv)
    assert code == 2
    assert "UTF-8" in err


def test_an_output_that_is_a_file_is_refused_before_the_work(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    argv = ["inspect", "--model", str(checkpoint), "--text", "fine"]
    code, _, err = call(capsys, [*argv, "--output", str(tmp_path / "taken")])
    assert code == 2
    assert "taken" in err
    assert "inspecting" not in err


def test_a_pickled_checkpoint_is_refused(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoint / "model.safetensors").unlink()
    torch.save({}, checkpoint / "pytorch_model.bin")
    code, _, err = call(capsys, ["inspect", "--model", str(checkpoint), "--text", "fine"])
    assert code == 2
    assert "safetensors" in err


def test_models_lists_families_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, ["models", "--json"])
    found = json.loads(out)
    assert code == 0
    assert found["supported"]["bert"] == ["encoder.layer"]
    assert found["supported"]["t5"] == ["encoder.block", "decoder.block"]
    assert "ALBERT" in found["refused"]["albert"]
    assert "refused: ALBERT" in call(capsys, ["models"])[1]


def test_models_describes_a_checkpoint(
    connected_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, ["models", "--model", str(connected_checkpoint), "--json"])
    found = json.loads(out)
    assert code == 0
    assert (found["family"], found["layers"], found["safetensors"]) == ("bert", 2, True)
    assert found["parameters"] == sum(p.numel() for p in model().parameters())
    assert found["connection"]["layers"] == "2"
    shown = call(capsys, ["models", "--model", str(connected_checkpoint)])[1]
    assert "ImplicitEuler in layers 2" in shown


def test_models_says_why_a_family_is_refused(
    albert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, ["models", "--model", str(albert)])
    assert code == 0
    assert "refused: ALBERT" in " ".join(out.split())


def test_models_refuses_what_is_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, ["models", "--model", str(tmp_path)])
    assert (code, out) == (2, "")
    assert "config.json" in err
    (tmp_path / "config.json").write_text("{not json")
    code, _, err = call(capsys, ["models", "--model", str(tmp_path)])
    assert code == 2
    assert str(tmp_path) in err
