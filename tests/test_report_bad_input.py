"""What cannot be read is told on the page, and costs no more than itself."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import report_records as made

from holdfast.errors import InputError
from holdfast.record import Found, Metric, RunRecord, find_records, read_record, write_record
from holdfast.report import report, write_report
from holdfast.report.content import Content, Gallery

EXAMPLES = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clean record and one of an attack, with its outcomes."""
    return made.write(tmp_path, pair("plain"))


def pair(model: str) -> Iterator[tuple[str, RunRecord]]:
    yield f"{model}/clean", made.clean_record(model, 0, EXAMPLES, 0.9)
    yield f"{model}/attack", made.attack_record(model, 0, "pwws_rift", EXAMPLES, 0.4)


def content(folder: Path) -> Content:
    return report(find_records([folder])).content


def shown(told: Content) -> int:
    blocks = [block for section in told.sections for block in section.blocks]
    return next((block.total for block in blocks if isinstance(block, Gallery)), 0)


def has_results(told: Content) -> bool:
    return [section.name for section in told.sections][:1] == ["results"]


def outcomes(folder: Path) -> Path:
    return folder / "plain" / "attack.outcomes.jsonl"


def test_nothing_is_wrong_with_sound_records(folder: Path) -> None:
    assert content(folder).problems == ()
    assert shown(content(folder)) == EXAMPLES


def test_a_record_of_an_unknown_version_is_named(folder: Path) -> None:
    (folder / "later.json").write_text('{"record": 99}')
    told = content(folder)
    assert len(told.problems) == 1
    assert "later.json is a record of format 99" in told.problems[0]
    assert has_results(told)


def test_a_truncated_outcomes_file_gives_what_it_has(folder: Path) -> None:
    file = outcomes(folder)
    file.write_bytes(file.read_bytes()[:-30])
    told = content(folder)
    assert "ends before all the outcomes" in told.problems[0]
    assert shown(told) == EXAMPLES - 1
    assert has_results(told)


def test_a_truncated_gzipped_file_gives_what_it_has(tmp_path: Path) -> None:
    attack = made.attack_record("m", 0, "pwws_rift", EXAMPLES, 0.4)
    plain = made.write_outcomes(tmp_path / "plain", made.attack_outcomes(attack)).read_bytes()
    (tmp_path / "o.jsonl.gz").write_bytes(gzip.compress(plain)[:-20])
    write_record(replace(attack, outcomes="o.jsonl.gz"), tmp_path / "a.json")
    told = content(tmp_path)
    assert len(told.problems) == 1
    assert has_results(told)


def test_a_missing_outcomes_file_is_named(folder: Path) -> None:
    outcomes(folder).unlink()
    told = content(folder)
    assert "attack.outcomes.jsonl" in told.problems[0]
    assert "plain, seed 0: sst2 under pwws_rift" in told.problems[0]
    assert shown(told) == 0
    assert has_results(told)


def test_a_line_that_is_no_outcome_ends_its_file_only(folder: Path) -> None:
    made.write(folder, pair("other"))
    lines = outcomes(folder).read_text(encoding="utf-8").splitlines(keepends=True)
    outcomes(folder).write_text("".join([*lines[:11], '{"no": "outcome"}\n', *lines[11:]]))
    told = content(folder)
    assert len(told.problems) == 1
    assert "10 outcomes before it are counted" in told.problems[0]
    assert shown(told) == EXAMPLES + 10


def test_other_outcomes_than_the_records_own_are_not_shown(folder: Path) -> None:
    file, record = outcomes(folder), folder / "plain" / "attack.json"
    found = read_record(record)
    known = {**found.checksums, "outcomes": hashlib.sha256(file.read_bytes()).hexdigest()}
    write_record(replace(found, checksums=known), record)
    assert shown(content(folder)) == EXAMPLES
    assert content(folder).problems == ()
    whole = file.read_bytes()
    file.write_bytes(whole[:-30])
    told = content(folder)
    assert "was cut short: it has" in told.problems[0]
    assert (shown(told), has_results(told)) == (0, True)
    file.write_bytes(whole)
    file.write_text(file.read_text(encoding="utf-8").replace('"failed"', '"untouched"'))
    told = content(folder)
    assert "is not the file that the record was made of" in told.problems[0]
    assert shown(told) == 0
    assert has_results(told)


def test_a_record_that_contradicts_itself_is_told_and_left_out(folder: Path) -> None:
    file = folder / "plain" / "attack.json"
    found = read_record(file)
    edited = tuple(
        replace(metric, value=0.95) if metric.name == "accuracy_under_attack" else metric
        for metric in found.metrics
    )
    wrong = replace(found, metrics=edited)
    write_record(wrong, file)
    told = content(folder)
    assert "attack.json contradicts itself" in told.problems[0]
    assert "its accuracy_under_attack is 0.95" in told.problems[0]
    assert "95.0" not in report(find_records([folder])).markdown()
    assert has_results(told)
    with pytest.raises(InputError, match=r"no record to report on; .*contradicts itself"):
        report(find_records([file]))


def test_texts_that_are_no_texts_are_told(folder: Path) -> None:
    lines = outcomes(folder).read_text(encoding="utf-8").splitlines()
    strange = json.loads(lines[1]) | {"texts": [3], "id": "strange"}
    outcomes(folder).write_text("\n".join([lines[0], json.dumps(strange), *lines[1:]]) + "\n")
    told = content(folder)
    assert "something else than text" in told.problems[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"marks": {"accuracy": "01x"}},
        {"marks": {"accuracy": [1, 0]}},
        {"checksums": {"data": 7}},
        {"seeds": {"attack": "zero"}},
        {"training": "nothing"},
    ],
    ids=str,
)
def test_a_corner_that_makes_no_sense_costs_that_corner(tmp_path: Path, wrong: dict) -> None:
    made.write(tmp_path, pair("plain"))
    made.write(tmp_path, pair("other"))
    file = tmp_path / "other" / "clean.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | wrong))
    found = find_records([tmp_path])
    assert len(found.records) == 4
    paths = write_report(found, tmp_path / "out")
    assert all(path.is_file() for path in paths)
    told = report(found).content
    assert [row.head.text for row in told.sections[0].blocks[0].rows[:2]] == ["plain", "other"]
    if "training" not in wrong:
        assert "other/clean.json" in told.problems[0]


def test_a_number_that_is_none_costs_its_cell_only(tmp_path: Path) -> None:
    made.write(tmp_path, pair("plain"))
    file = tmp_path / "plain" / "clean.json"
    file.write_text(file.read_text().replace("0.51", "NaN"))
    told = content(tmp_path)
    assert has_results(told)
    assert "nan" not in report(find_records([tmp_path])).html().lower().split("<main")[1][:20000]


def test_no_record_at_all_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="no record to report on; x is broken"):
        report(Found((), ("x is broken.",)))
    with pytest.raises(InputError, match=r"no record to report on\.$"):
        report(Found((), ()))


def test_a_reference_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"model 'bert'.*there are plain"):
        report(find_records([folder]), reference="bert")


def test_trainings_alone_make_a_report() -> None:
    records = [made.training_record("implicit", seed) for seed in (0, 1)]
    told = report(Found(tuple((Path("r.json"), one) for one in records), ())).content
    assert [section.name for section in told.sections] == [
        "inside",
        "training",
        "made",
        "definitions",
    ]


def test_an_empty_series_and_a_record_of_nothing_make_a_report() -> None:
    nothing = made.record("m", "sst2", None)
    told = report(Found(((Path("r.json"), nothing),), ()))
    assert "1 model on sst2" in told.html()
    assert told.markdown().startswith("# 1 model on sst2")


def test_outcomes_of_elsewhere_make_a_report(tmp_path: Path) -> None:
    """What another program attacked: no training, no seed, no environment, and a strange config."""
    outcomes = [made.outcome(n, ("failed", "succeeded", "skipped")[n % 3]) for n in range(30)]
    made.write_outcomes(tmp_path / "theirs.jsonl", outcomes)
    survived = "".join("01"[one.status == "failed"] for one in outcomes)
    bare = RunRecord(
        kind="evaluation",
        model="theirs",
        task="reviews",
        seed=None,
        config={"type": "SomethingElse", "of": [1, None]},
        attack="their attack",
        metrics=(made.share("accuracy_under_attack", survived), Metric("success_rate", 0.5)),
        marks={"accuracy_under_attack": survived},
        outcomes="theirs.jsonl",
    )
    second = replace(bare, model="others", outcomes=None, config={})
    own = made.attack_record("own", 0, "their attack", 30, 0.4, checksums={})
    records = (bare, second, replace(own, task="reviews"))
    given = Found(tuple((tmp_path / f"{n}.json", one) for n, one in enumerate(records)), ())
    made_of = report(given)
    text, page = made_of.markdown(), made_of.html()
    assert made_of.content.problems == ()
    assert "under their attack" in text
    assert "theirs" in page
    assert len(write_report(given, tmp_path / "report")) >= 4
    alone = Found(given.records[:1], ())
    assert "33.3" in report(alone).markdown()


def test_a_folder_that_cannot_be_written_is_refused(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(find_records([folder]), folder / "file" / "report")
