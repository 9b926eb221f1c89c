"""`holdfast report` as it is typed."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import report_records as made

from holdfast import cli


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    pairs = [
        ("a/clean", made.clean_record("plain", 0, 30, 0.9)),
        ("b/clean", made.clean_record("rift", 0, 30, 0.8)),
    ]
    return made.write(folder, iter(pairs))


def test_the_page_its_twin_the_rows_and_a_card_are_written(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    assert cli.main(["report", str(records / "a"), str(records / "b"), "--output", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"2 records -> {out / 'report.html'}" in said
    assert "<!doctype html>" in (out / "report.html").read_text(encoding="utf-8")
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "rift" in text
    rows = csv.DictReader((out / "records.csv").read_text(encoding="utf-8").splitlines())
    assert {row["model"] for row in rows} == {"plain", "rift"}
    assert "model-index" in (out / "model_card.md").read_text(encoding="utf-8")


def test_drawings_of_the_twin_are_where_it_says(records: Path, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "records", iter([("t", made.training_record("implicit", 0))]))
    assert cli.main(["report", str(folder), "--output", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    named = [part.split(")")[0] for part in text.split("](")[1:]]
    assert named
    assert all((tmp_path / name).is_file() for name in named)


def test_what_is_not_read_is_said_and_the_rest_written(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"record": 99}')
    assert cli.main(["report", str(records), str(bad), "--output", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["records"] == 2
    assert "format 99" in told["problems"][0]
    assert Path(told["page"]).is_file()


def test_without_a_folder_the_report_is_written_here(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", str(records)]) == 0
    assert (tmp_path / "report" / "report.html").is_file()


def test_title_reference_and_examples_are_taken(records: Path, tmp_path: Path) -> None:
    options = ["--title", "Ours <3", "--reference", "rift", "--examples", "0"]
    assert cli.main(["report", str(records), "--output", str(tmp_path), *options]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Ours &lt;3</h1>" in page
    assert "Every model against rift" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "x"], "name a record or a folder"),
        (["nowhere", "--output", "x"], "There is no record at nowhere"),
        (["nowhere", "--outputs", "x"], "did you mean --output"),
        (["nowhere", "--output", "x", "--examples", "-1"], "expected 0 or more"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_report_is_made_without_torch(records: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from holdfast import cli; "
        f"code = cli.main(['report', {str(records)!r}, '--output', {str(tmp_path)!r}]); "
        "sys.exit(code or 'torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
