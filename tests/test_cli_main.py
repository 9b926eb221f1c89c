"""What `holdfast` answers and returns: help, versions, errors, and how fast it starts."""

import json
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from holdfast import cli
from holdfast.errors import InputError, RunFailed

SKETCH = """
import sys
from holdfast.cli import main
print(main({argv!r}), "torch" in sys.modules)
"""


def holdfast(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast.cli", *argv]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def stub(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def dispatch(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(cli, "_dispatch", dispatch)


@pytest.mark.parametrize("argv", [["--help"], ["tasks", "--help"], ["tasks"], ["--version"]])
def test_what_needs_no_model_does_not_wait_for_torch(argv: list[str]) -> None:
    code = SKETCH.format(argv=argv)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in cli.COMMANDS)
    assert cli.main([]) == 0
    assert capsys.readouterr().out == shown


def test_help_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    cli.main(["--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


def test_an_unknown_command_suggests_the_nearest() -> None:
    done = holdfast("trian")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "holdfast: There is no command 'trian'; did you mean train?\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("The label is wrong."), 2, "The label is wrong."),
        (RunFailed("The loss is no number."), 1, "The loss is no number."),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (ZeroDivisionError(), 1, "ZeroDivisionError"),
        (KeyboardInterrupt(), 130, "resumes with the same command"),
    ],
)
def test_an_error_is_one_line_on_stderr_and_a_code(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stub(monkeypatch, error)
    assert cli.main(["train"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.strip().count("\n") == 0


def test_notes_are_told_apart_from_errors_and_from_how_the_work_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dispatch(arguments: list[str]) -> None:
        log = logging.getLogger("holdfast.somewhere")
        log.info("data: 3 rows")
        log.warning("A label is rare.")
        warnings.warn_explicit("Layer 2 was not solved.", UserWarning, "f", 1, "holdfast.x")
        warnings.warn_explicit("Old habits.", FutureWarning, "f", 1, "torch.x")

    monkeypatch.setattr(cli, "_dispatch", dispatch)
    for _ in range(2):  # nothing is left behind that would say it twice
        assert cli.main(["train"]) == 0
        assert capsys.readouterr().err.splitlines() == [
            "data: 3 rows",
            "holdfast: note: A label is rare.",
            "holdfast: note: Layer 2 was not solved.",
        ]


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(monkeypatch, ZeroDivisionError("of zero"))
    assert cli.main(["train", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_left_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "holdfast.cli", "tasks"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_command_whose_complaints_nobody_reads_has_failed_all_the_same() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "holdfast.cli", "train", "--no-such-flag"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, check=False)
    os.close(writing)
    assert (done.returncode != 0, done.stdout) == (True, b"")


def test_tasks_lists_columns_labels_and_splits(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tasks", "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)
    assert tasks["snli"]["texts"] == ["premise", "hypothesis"]
    assert tasks["snli"]["labels"] == ["entailment", "neutral", "contradiction"]
    assert tasks["sst2"]["splits"] == ["train", "validation"]
    assert "rows" not in tasks["sst2"]


def test_tasks_counts_what_a_folder_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "train.jsonl").write_text('{"sentence": "a", "label": 0}\n' * 3)
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "train.csv").write_text("sentence1,sentence2,label\na,b,0\n")
    assert cli.main(["tasks", "--data", str(tmp_path), "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)
    assert tasks["sst2"]["rows"] == {"train": 3}
    assert tasks["rte"]["rows"] == {"train": 1}
    assert tasks["snli"]["rows"] == {}
    assert cli.main(["tasks", "--data", str(tmp_path)]) == 0
    assert "validation not there" in " ".join(capsys.readouterr().out.split())


def test_tasks_splits_no_name_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    cli.main(["tasks"])
    shown = capsys.readouterr().out
    assert "validation_matched" in shown
    assert max(map(len, shown.splitlines())) <= 60


def test_tasks_refuses_a_folder_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tasks", "--data", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
