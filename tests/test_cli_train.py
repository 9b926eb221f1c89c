"""`holdfast train` end to end on a tiny model: recipes, results, resuming, and bad input."""

import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from train_tiny import tokenizer, write_checkpoint, write_csv
from transformers import AlbertConfig, AlbertModel

from holdfast.cli import main
from holdfast.commands.layout import to_tree
from holdfast.commands.recipes import recipe_folders
from holdfast.commands.train import INTERFACE
from holdfast.implicit import PRESETS
from holdfast.solve import Anderson, Descent

RECIPES = sorted({path.stem for folder in recipe_folders() for path in folder.glob("*.toml")})
TASK = ["--data.task", "sst2", "--output", "out"]


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    """Flags of a run that takes a second."""
    model = write_checkpoint(tmp_path / "model")
    data = write_csv(tmp_path / "data.csv", 40)
    small = ["--optimisation.epochs", "1", "--optimisation.batch_size", "8"]
    given = ["--model", str(model), "--data.file", str(data), "--data.max_length", "16"]
    return [*given, *small, "--output", str(tmp_path / "run")]


def call(capsys: pytest.CaptureFixture[str], argv: Sequence[str]) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def sentence(capsys: pytest.CaptureFixture[str], argv: Sequence[str]) -> str:
    """Return the one sentence of bad input; what a run says of itself may come before it."""
    code, out, err = call(capsys, argv)
    *before, told = err.splitlines()
    assert (code, out) == (2, "")
    assert told.startswith("holdfast: ")
    assert not [line for line in before if line.startswith("holdfast: ")]
    return told


def test_a_plain_run_prints_its_result_and_keeps_it(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, ["train", *flags])
    assert code == 0
    assert "validation, 8 examples" in out
    assert err.startswith("data: 40 rows read; 32 to train, 8 to validate, none held out\n")
    assert "\nhead: new, to be learned: " in err
    assert str(tmp_path / "run" / "model") in out
    again, repeated, _ = call(capsys, ["train", *flags])
    assert again == 0
    assert "was done already" in repeated


def test_json_is_one_object_on_stdout(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = ["--preset", "recommended", "--connection.layers", "2"]
    code, out, _ = call(capsys, ["train", *flags, *connection, "--json"])
    result = json.loads(out)
    assert code == 0
    assert [reading["layer"] for reading in result["readings"]] == [2]
    assert result["already_done"] is False
    assert Path(result["model"], "connection.json").is_file()


def test_recipe_preset_and_flags_reach_the_run(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('preset = "im_bert"\n[connection]\nlayers = "1"\n[data]\nlabel = "label"\n')
    changed = ["--connection.solver.steps", "2", "--optimisation.learning_rate", "1e-3"]
    code, _, _ = call(capsys, ["train", "--config", str(recipe), *flags, *changed])
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert code == 0
    assert config["connection"]["layers"] == "1"
    assert config["connection"]["solver"]["type"] == "Descent"
    assert config["connection"]["solver"]["steps"] == 2
    assert config["optimisation"]["learning_rate"] == 1e-3


def _hear_ctrl_c() -> None:
    """Undo what a shell does to a job in the background, should the tests run in one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_with_130_and_the_same_command_resumes(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["train", *flags, "--optimisation.epochs", "30"]
    command = [sys.executable, "-m", "holdfast.cli", *argv]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hear_ctrl_c,
    ) as process:
        assert process.stderr is not None
        # An epoch has 4 steps and ends with a checkpoint; the bar stays silent in some of them.
        shown = iter(lambda: process.stderr.read(1), b"")
        bar = b""
        while not re.search(rb" ([5-9]|1\d)/120 ", bar):
            bar += next(shown)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"\nholdfast: interrupted; a run that was under way resumes" in err
    record = tmp_path / "run" / "run.json"
    assert not record.exists()
    again = call(capsys, argv)
    assert again[0] == 0
    assert json.loads(record.read_text())["resumed_from"] is not None
    assert re.search(r"^resuming from step \d+ of 120$", again[2], re.MULTILINE)


@pytest.mark.parametrize("preset", PRESETS)
def test_dry_run_prints_a_recipe_that_reads_back_the_same(
    preset: str, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*flags, "--preset", preset, "--data.texts", "a", "b", "--data.examples", "9"]
    code, out, err = call(capsys, ["train", *argv, "--dry-run"])
    assert (code, err) == (0, "")
    assert not (tmp_path / "run").exists()
    (tmp_path / "printed.toml").write_text(out)
    read_back = ["train", "--config", str(tmp_path / "printed.toml"), "--dry-run"]
    assert call(capsys, read_back) == (0, out, "")
    assert (
        INTERFACE.read(["--config", str(tmp_path / "printed.toml")])[0] == INTERFACE.read(argv)[0]
    )


def test_dry_run_shows_no_section_without_settings(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = call(capsys, ["train", *flags, "--dry-run"])
    lines = [line for line in out.splitlines() if line]
    pairs = zip(lines, [*lines[1:], "[end]"], strict=True)
    assert not [line for line, after in pairs if line[0] == "[" and after[0] == "["]


@pytest.mark.parametrize("solver", ["FixedPoint", "Anderson", "Broyden", "Descent"])
@pytest.mark.parametrize("gradient", ["Phantom", "ImplicitFunction"])
def test_help_explains_every_option(
    solver: str, gradient: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--connection.solver", solver, "--connection.gradient", gradient]
    for scheme in ("Explicit", "ImplicitEuler", "Theta"):
        argv = ["train", "--help", *chosen, "--connection.scheme", scheme]
        _, out, _ = call(capsys, argv)
        told = re.sub(r"\s+", " ", out)
        assert not re.findall(r"(--\S+ \S+) \(default", told)


def test_the_example_of_the_readme_resolves(tmp_path: Path) -> None:
    argv = "--config im-bert --data.task sst2 --data.folder data --model m --output runs/x"
    solver = "--connection.layers 4-6 --connection.solver Anderson --connection.solver.max_steps 8"
    config, _ = INTERFACE.read([*argv.split(), *solver.split()])
    assert config.connection is not None
    assert config.connection.layers == "4-6"
    assert config.connection.solver == Anderson(max_steps=8)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_resolves_and_tells_its_command(name: str, tmp_path: Path) -> None:
    text = next(folder / f"{name}.toml" for folder in recipe_folders()).read_text()
    own = tomllib.loads(text)["data"].get("task")
    data = [] if own else ["--data.file", "reviews.csv"]
    config, _ = INTERFACE.read(["--config", name, "--output", "out", *data])
    assert to_tree(config)["model"]
    assert config.data.task == own
    assert f"holdfast train --config {name} " in text.split("\n\n")[0]


def test_the_papers_recipe_is_the_papers_protocol() -> None:
    config, _ = INTERFACE.read(["--config", "im-bert", *TASK])
    settings = config.optimisation
    assert config.connection == PRESETS["im_bert"]
    assert config.connection is not None
    assert isinstance(config.connection.solver, Descent)
    assert (config.connection.solver.steps, config.connection.solver.step_size) == (5, 0.1)
    assert (settings.learning_rate, settings.batch_size, settings.weight_decay) == (2e-5, 16, 0.0)
    assert (config.data.max_length, config.data.validation_share) == (128, 0.2)
    low, _ = INTERFACE.read(["--config", "im-bert-low-resource", *TASK])
    assert (low.connection, low.data.examples) == (config.connection, 1000)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--connection.layers", "two"], ["layers", "two"]),
        (["--connection.layers", "1-"], ["layers", "1-"]),
        (["--connection.layers", "2-9"], ["does not exist", "1 to 2"]),
        (["--connection.layers", "2-1"], ["backwards"]),
        (["--data.label", "mood"], ["mood", "text"]),
        (["--data.texts", "review"], ["review"]),
        (["--data.texts", "text", "text"], ["text", "twice"]),
        (["--data.file", "nowhere.csv"], ["nowhere.csv"]),
        (["--data.folder", "nowhere"], ["folder"]),
        (["--data.max_length", "1"], ["length of 1"]),
        (["--data.examples", "1000"], ["1000"]),
        (["--data.validation_share", "2"], ["validation_share"]),
        (["--optimisation.batch_size", "0"], ["batch_size"]),
        (["--optimisation.precision", "fp8"], ["fp8", "fp32, bf16"]),
        (["--seed", "-1"], ["seed"]),
        (["--model", "./nowhere"], ["nowhere"]),
        (["--data.task", "sst2"], ["data.task", "data.file"]),
        (["--data.task", "sst3", "--data.file", "null"], ["sst3"]),
        (["--data.task", "sst2", "--data.file", "null", "--data.folder", "nowhere"], ["nowhere"]),
    ],
)
def test_bad_settings_are_refused_and_leave_nothing(
    extra: list[str],
    words: list[str],
    flags: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = sentence(capsys, ["train", *flags, *extra])
    assert all(word in told for word in words), told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b"text,label\n", ["empty"]),
        (b"text,label\nfine,good\n ,bad\n", ["line 3", "empty"]),
        (b"text,label\nfine,good\nbad,\n", ["line 3", "label"]),
        (b"text,label\nfine \xff,good\n", ["UTF-8"]),
        (b"text,label\nfine,good\nwarm,good\n", ["two classes"]),
    ],
)
def test_bad_files_are_refused_and_leave_nothing(
    content: bytes,
    words: list[str],
    flags: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    told = sentence(capsys, ["train", *flags])
    assert all(word in told for word in ["data.csv", *words]), told
    assert not (tmp_path / "run").exists()


def test_a_label_outside_the_tasks_set_is_refused(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(json.dumps({"sentence": "a film", "label": label}) + "\n" for label in (0, 1, 7))
    for split in ("train", "validation"):
        (tmp_path / "data" / "sst2").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "sst2" / f"{split}.jsonl").write_text(rows)
    task = ["--data.file", "null", "--data.task", "sst2", "--data.folder", str(tmp_path / "data")]
    told = sentence(capsys, ["train", *flags, *task])
    assert "line 3" in told
    assert "'7'" in told
    assert not (tmp_path / "run").exists()


def test_an_output_folder_with_another_run_is_refused_and_kept(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("years of work")
    assert "thesis.tex" in sentence(capsys, ["train", *flags])
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]
    shutil.rmtree(tmp_path / "run")
    assert call(capsys, ["train", *flags])[0] == 0
    told = sentence(capsys, ["train", *flags, "--seed", "1"])
    assert "another run: " in told
    assert "seed was 0 and is 1" in told


def test_a_pickled_checkpoint_is_refused(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model" / "model.safetensors").unlink()
    torch.save({}, tmp_path / "model" / "pytorch_model.bin")
    assert "safetensors" in sentence(capsys, ["train", *flags])
    assert not (tmp_path / "run").exists()


def test_a_family_without_layers_of_its_own_is_refused(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    config = AlbertConfig(vocab_size=32, embedding_size=8, num_hidden_layers=2, **shape)
    AlbertModel(config).save_pretrained(tmp_path / "albert")
    tokenizer().save_pretrained(tmp_path / "albert")
    capsys.readouterr()
    argv = ["train", *flags, "--model", str(tmp_path / "albert"), "--preset", "recommended"]
    told = sentence(capsys, argv)
    assert "ALBERT" in told
    assert not (tmp_path / "run").exists()


def test_second_order_gets_the_attention_it_needs(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    second = ["--connection.solver", "Descent", "--connection.gradient", "Unrolled"]
    assert call(capsys, ["train", *flags, *second])[0] == 0
