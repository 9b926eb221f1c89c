"""What no attack can change, in evaluations: the records, the check by gradients, the report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from evaluate_tiny import write_data, write_run

from holdfast.attack import Material
from holdfast.errors import InputError
from holdfast.evaluate import AttackCell, Checkpoint, Suite, evaluate
from holdfast.record import RunRecord, decode, find_records
from holdfast.report import report
from holdfast.text import CanonicalMap

MAP = CanonicalMap({"movie": "film", "picture": "film", "cinematograph": "film"}, "", 1)


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    """A model that rewrites texts and one that does not, data, a lexicon."""
    folder = write_data(tmp_path_factory.mktemp("certified"))
    for name in ("plain", "rewriting"):
        write_run(folder / name)
    MAP.save(folder / "rewriting" / "model")
    return folder


def suite(ground: Path, **settings: object) -> Suite:
    fixed = Suite(
        tasks=("sst2",),
        data=ground,
        material=Material(lexicon=ground / "lexicon.json"),
        examples=12,
        cost=False,
        stability=False,
    )
    return replace(fixed, **settings)  # type: ignore[arg-type]


def records(ground: Path, name: str, of: Suite, out: Path) -> dict[str | None, RunRecord]:
    checkpoint = Checkpoint.read(f"{name}={ground / name}")
    return {record.attack: record for record in evaluate(checkpoint, of, out)}


def test_what_is_certain_stands_beside_what_the_attack_left(ground: Path, tmp_path: Path) -> None:
    proved = records(ground, "rewriting", suite(ground), tmp_path / "proved")
    searched = records(ground, "rewriting", suite(ground, certify=False), tmp_path / "searched")
    attacked = proved["pwws_rift"]
    certified, under = (
        attacked.metric(name) for name in ("certified_accuracy", "accuracy_under_attack")
    )
    assert certified is not None
    assert under is not None
    assert 0 < (certified.value or 0) <= (under.value or 0)
    assert (certified.majority, certified.total) == (under.majority, 12)
    marks = zip(
        attacked.marks["certified_accuracy"], attacked.marks["accuracy_under_attack"], strict=True
    )
    assert all(certain <= held for certain, held in marks)
    assert searched["pwws_rift"].metric("certified_accuracy") is None
    assert searched["pwws_rift"].metric("accuracy_under_attack") == under
    white = ("white_box_accuracy", "accuracy_under_attack")
    assert [m for m in proved["adaptive"].metrics if m.name in white] == [
        m for m in searched["adaptive"].metrics if m.name in white
    ]


def test_of_a_model_that_reads_every_word_nothing_is_said(ground: Path, tmp_path: Path) -> None:
    found = records(ground, "plain", suite(ground, adaptive=False), tmp_path)
    assert found["pwws_rift"].metric("certified_accuracy") is None


def test_a_record_from_before_there_were_proofs_asks_for_none() -> None:
    cell = {
        "type": "AttackCell",
        "checkpoint": {"type": "Checkpoint", "name": "a", "folder": "b", "seed": 0},
        "reading": {"type": "Reading", "task": "sst2", "seed": 0, "examples": 5},
        "attack": "pwws_rift",
    }
    assert decode(AttackCell, cell).certify is False


def test_what_was_not_proved_is_another_evaluation_where_it_can_be(
    ground: Path, tmp_path: Path
) -> None:
    searched = suite(ground, adaptive=False, certify=False)
    for name in ("plain", "rewriting"):
        records(ground, name, searched, tmp_path)
    with pytest.raises(InputError, match="another evaluation: certify was False and is True"):
        records(ground, "rewriting", suite(ground, adaptive=False), tmp_path)
    file = tmp_path / "rewriting" / "0" / "sst2" / "pwws_rift-0.json"
    earlier = json.loads(file.read_text())
    del earlier["config"]["certify"]  # as records were before there were proofs
    file.write_text(json.dumps(earlier))
    records(ground, "rewriting", searched, tmp_path)
    with pytest.raises(InputError, match="certify was not set and is True"):
        records(ground, "rewriting", suite(ground, adaptive=False), tmp_path)
    # of a model that reads every word nothing is proved, whatever is asked for
    before = records(ground, "plain", searched, tmp_path)
    assert records(ground, "plain", suite(ground, adaptive=False), tmp_path) == before


def test_the_report_has_a_column_for_it(ground: Path, tmp_path: Path) -> None:
    for name in ("plain", "rewriting"):
        records(ground, name, suite(ground, adaptive=False), tmp_path)
    text = report(find_records([tmp_path])).markdown()
    assert r"certified, pwws\_rift" in text
