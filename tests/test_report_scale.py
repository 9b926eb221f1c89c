"""The benchmark of the report at a small size: it runs, and the page stays far below its limit."""

import importlib
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def test_the_benchmark_tells_the_size_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    script = importlib.import_module("report_scale")
    small = {"MODELS": ["a", "b"], "TASKS": ("sst2",), "SEEDS": range(2), "EXAMPLES": 50}
    for name, value in small.items():
        monkeypatch.setattr(script, name, value)
    output, page = tmp_path / "out" / "scale.json", tmp_path / "page.html"
    monkeypatch.setattr("sys.argv", ["x", "--output", str(output), "--page", str(page)])
    script.main()
    found = json.loads(output.read_text(encoding="utf-8"))
    assert (found["records"], found["outcomes"]) == (20, 2000)
    assert 0.1 < found["page_mb"] < 2
    assert found["page_mb"] == pytest.approx(page.stat().st_size / 1e6)
