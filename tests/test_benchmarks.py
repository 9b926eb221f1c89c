"""The benchmark scripts: what they compare, and what they write down."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from families import batch, classifier

from holdfast.implicit import im_bert
from holdfast.implicit.capture import capture_layers
from holdfast.implicit.connection import LayerMap

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """Return a loader of the scripts, which find each other as when they are run."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for name in ("side_by_side", "residuals", "connection_cost"):
        sys.modules.pop(name, None)


def test_the_papers_descent_is_that_of_the_preset(script) -> None:
    solver = script("side_by_side").papers_descent()
    assert (solver.steps, solver.step_size, solver.norm) == (5, 0.1, "squared_sum")
    assert solver.measure is False
    cost = script("connection_cost")
    rows = [case for case in (*cost.cases(), *cost.all_layer_cases()) if "paper" in case.name]
    assert len(rows) == 3
    assert all(case.connection.solver == solver for case in rows)
    assert all(case.connection.scheme == im_bert.scheme for case in rows)


def test_residuals_of_one_layer(script) -> None:
    record = capture_layers(classifier("bert"), batch((7, 12)))[0]
    row = script("residuals").solve_layer(
        LayerMap(record.phi, record.before, 1.0, record.real), record.before
    )
    assert row["anderson work"] <= row["descent work"] / 2
    assert row["anderson"] < row["start"]
    assert row["times smaller"] == pytest.approx(row["descent"] / row["anderson"])


def test_a_table_of_costs(script) -> None:
    cost = script("connection_cost")
    model, inputs = classifier("bert", num_hidden_layers=6), batch((7, 12))
    cases = [case for case in cost.cases() if case.forward_limit is None]
    rows = cost.compare(model, {**inputs, "labels": torch.tensor([0, 1])}, cases, 1)
    assert [row["case"] for row in rows] == [case.name for case in cases]
    assert [row["evaluations"] for row in rows] == [None, "4+4+4", "5+5+5"]
    assert all(row["forward ms"] > 0 and row["step ms"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("told", "known", "wanted"),
    [("told", None, "told"), ("told", "old", "told"), (None, "it", "it")],
)
def test_a_commit_that_is_told_is_believed(
    script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: str | None,
    known: str | None,
    wanted: str,
) -> None:
    shared = script("side_by_side")
    bare = {"holdfast": "unknown", "commit": known}
    monkeypatch.setattr(shared, "describe_environment", lambda: bare)
    shared.write(tmp_path / "new" / "x.json", {"rows": []}, seed=3, commit=told)
    found = json.loads((tmp_path / "new" / "x.json").read_text())
    assert found["environment"]["commit"] == wanted
    assert found["environment"]["holdfast"].count(".") == 2
    assert (found["seed"], found["rows"]) == (3, [])
