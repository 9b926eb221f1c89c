"""`holdfast demo` end to end, with a tiny model and sentences in place of the embedded ones."""

import io
import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
from train_tiny import examples, write_checkpoint, write_csv

from holdfast.cli import main
from holdfast.commands import demo
from holdfast.data import DemoParts, Task
from holdfast.errors import InputError
from holdfast.statistics import wilson
from holdfast.text.lexicon import lexicon_of

WORDS = {"fine": ["great", "warm"], "dull": ["cold", "weak"], "film": ["story", "cast"]}
TASK = Task("reviews", ("text",), ("bad", "good"), validation=None)


def parts(*, train: int, validation: int, test: int, seed: int) -> DemoParts:
    return DemoParts(TASK, *(examples(count, seed=seed) for count in (train, validation, test)))


def on_all_layers(variant: demo.Variant) -> demo.Variant:
    """The tiny model does not have the layers that the demo connects."""
    own = variant.connection
    return replace(variant, connection=own and replace(own, layers="all"))


@pytest.fixture(scope="module", autouse=True)
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put a tiny model and sentences where the packages would be."""
    folder = tmp_path_factory.mktemp("embedded")
    model, sentences = write_checkpoint(folder / "model"), write_csv(folder / "s.csv", 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "demo_model_path", lambda: model)
        patch.setattr(demo, "demo_sentences_path", lambda: sentences)
        patch.setattr(demo, "demo_parts", parts)
        patch.setattr(demo, "VARIANTS", {k: on_all_layers(v) for k, v in demo.VARIANTS.items()})
        patch.setattr(demo, "find_wordnet", lambda: folder)
        patch.setattr(demo, "wordnet_lexicon", lambda _: lexicon_of(WORDS, "the test's"))
        yield


@pytest.fixture(scope="module")
def once(embedded: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Run the demo once; return its folder and what it printed."""
    folder, out, err = tmp_path_factory.mktemp("demo") / "out", io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["demo", "--quick", "--output", str(folder)])
    assert code == 0, err.getvalue()
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture
def done(once: tuple[Path, str, str], tmp_path: Path) -> Path:
    """Return a copy of the finished demo: a folder may be moved."""
    return Path(shutil.copytree(once[0], tmp_path / "holdfast-demo"))


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["demo", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_trains_and_attacks_all_models_and_ends_with_a_table(
    once: tuple[Path, str, str],
) -> None:
    folder, out, err = once
    for name in demo.VARIANTS:
        assert f"demo: the {name} model" in err
        assert f"{name} (seed 0), reviews, pwws_rift" in err
    for word in (
        "accuracy % (95 %)",
        "under PWWS %",
        "median residual",
        "seconds",
        "memory",
        "->",
        "demo.json",
        "rift-implicit",
    ):
        assert word in out
    assert "demo: residuals by anderson" in err
    assert "demo: pictures" in err
    record = json.loads((folder / "quick" / "demo.json").read_text())
    assert all((folder / "quick" / name).exists() for name in record["files"])
    assert len(record["runs"]["implicit"]["readings"]) == 2
    assert record["majority"] == 0.5
    found = record["evaluated"]["rift-implicit"]
    assert found["accuracy"]["total"] == demo.QUICK.test
    assert found["accuracy_under_attack"]["total"] == demo.QUICK.attacked


def test_it_ends_with_the_path_of_a_report_of_all_models(once: tuple[Path, str, str]) -> None:
    path = Path(once[1].splitlines()[-1].strip())
    page = path.read_text(encoding="utf-8")
    assert path == once[0] / "quick" / "report" / "report.html"
    assert all(name in page for name in demo.VARIANTS)
    assert "pwws_rift" in page
    assert "word for word" not in page  # what is measured was held out, though of the same file


def test_it_ends_with_commands_that_work(
    once: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = once[1].partition("Try next:\n")[2].replace("\\\n", " ")
    predict, inspect = (shlex.split(line) for line in shown.splitlines()[:2])
    assert "How to read it" in once[1]
    assert (predict[:2], inspect[:2]) == (["holdfast", "predict"], ["holdfast", "inspect"])
    assert main(predict[1:]) == 0
    assert "A gripping film." in capsys.readouterr().out
    assert main([*inspect[1:], "--iterations", "5"]) == 0


def test_a_second_time_it_uses_what_is_there(
    once: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--quick", "--output", str(once[0])]
    code, out, err = call(capsys, *argv)
    assert (code, out) == (0, once[1])
    assert err.count("used again") == len(demo.VARIANTS)
    assert json.loads(call(capsys, *argv, "--json")[1])["examples"]["test"] == demo.QUICK.test


def test_what_a_killed_demo_left_is_finished(
    done: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "save_pictures", lambda folder, growths: [])  # seconds, seen above
    (done / "quick" / "demo.json").unlink()
    (done / "quick" / "implicit" / "run.json").unlink()
    code, _, err = call(capsys, "--quick", "--output", str(done))
    assert code == 0
    assert err.count("used again") == len(demo.VARIANTS) - 1
    assert (done / "quick" / "demo.json").is_file()
    assert (done / "quick" / "implicit" / "run.json").is_file()


def test_it_fits_a_narrow_terminal(
    done: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(done.parent)
    monkeypatch.setenv("COLUMNS", "50")
    _, out, _ = call(capsys, "--quick")
    assert max(map(len, out.splitlines())) <= 50


def test_another_seed_in_the_same_folder_is_refused(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "--quick", "--output", str(done), "--seed", "1")
    assert (code, out) == (2, "")
    assert "another run" in err


def test_missing_packages_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> Path:
        raise InputError("The demo's package is not installed; run `make demo`.")

    monkeypatch.setattr(demo, "demo_model_path", missing)
    code, out, err = call(capsys, "--output", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert err == "holdfast: The demo's package is not installed; run `make demo`.\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_wilsons(right: int, total: int, low: float, high: float) -> None:
    assert wilson(right, total) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
