"""Records on disk: what is written is read, of every format, and what is not one is told."""

import dataclasses
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.implicit.presets import PRESETS
from holdfast.objectives import Rift
from holdfast.record import (
    METRICS,
    SERIES,
    Change,
    Metric,
    Outcome,
    OutcomesFile,
    RunRecord,
    Series,
    decode,
    encode,
    find_records,
    read_record,
    write_record,
)
from holdfast.statistics import wilson
from holdfast.train import TrainConfig
from holdfast.train.config import DataConfig, Selection

KEPT = Path(__file__).parent / "data_files" / "records"
TRAINING = KEPT / "training-format-1" / "run.json"
EVALUATION = KEPT / "evaluation-format-2" / "pwws_rift-0.json"

CONFIG = TrainConfig(
    model="models/tiny",
    output=Path("runs/a"),
    data=DataConfig(file=Path("größer.csv"), texts=("one", "two")),
    connection=PRESETS["im_bert"],
    objective=Rift(alpha=0.3),
    selection=Selection(by="accuracy", patience=2),
    seed=5,
)
RECORD = RunRecord(
    kind="evaluation",
    model='rift "quoted" größer',
    task="advglue/sst2",
    seed=None,
    config=encode(CONFIG),
    attack="pwws_rift",
    training=encode(CONFIG),
    metrics=(Metric("accuracy", 0.5, 0.25, 0.75, 4, 8, "word", 0.5, 0.5), Metric("f1", None)),
    series=(Series("residual", (1.0, 2.0), (0.5, 0.25), "train"),),
    marks={"accuracy": "10101010"},
    checksums={"data": "a" * 64},
    seeds={"attack": 3},
    environment={"holdfast": "0.1.0", "commit": None, "packages": {"torch": "2.11"}},
    device="cpu",
    seconds=1.5,
    outcomes="a.outcomes.jsonl",
    notes=("One.", "Two\nlines."),
)

# Written and read -----------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = write_record(RECORD, tmp_path / "deep" / "er" / "a.json")
    assert read_record(path) == RECORD
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]  # and no draft


def test_what_is_left_out_keeps_its_default(tmp_path: Path) -> None:
    bare = RunRecord("training", "a", "sst2", 0, {})
    assert read_record(write_record(bare, tmp_path / "a.json")) == bare


def test_the_configuration_is_the_same_dataclass_again(tmp_path: Path) -> None:
    found = read_record(write_record(RECORD, tmp_path / "a.json"))
    assert decode(TrainConfig, found.config) == decode(TrainConfig, found.training) == CONFIG


def test_a_number_that_is_none_is_written_as_none(tmp_path: Path) -> None:
    metric = Metric("queries", math.nan, -math.inf, math.inf)
    series = Series("loss", (1.0, 2.0, 3.0), (0.5, math.nan, math.inf))
    record = dataclasses.replace(RECORD, metrics=(metric,), series=(series,))
    path = write_record(record, tmp_path / "a.json")
    json.loads(path.read_text(), parse_constant=pytest.fail)  # NaN is no JSON
    assert read_record(path) == record
    assert record.metrics == (Metric("queries", None),)
    assert record.series == (Series("loss", (1.0,), (0.5,)),)


def test_a_series_has_a_number_for_each_place() -> None:
    with pytest.raises(InputError, match="series loss has 2 places and 1 numbers"):
        Series("loss", (1.0, 2.0), (0.5,))


def test_a_metric_is_found_by_name_and_group() -> None:
    assert RECORD.metric("accuracy", "word") is RECORD.metrics[0]
    assert RECORD.metric("f1") is RECORD.metrics[1]
    assert RECORD.metric("accuracy") is None


@pytest.mark.parametrize(
    ("value", "majority", "no_better"),
    [
        (0.4, 0.5, True),
        (0.5, 0.5, True),
        ((0.1 + 0.2) / 3, 0.1, True),  # the same but for the last digit
        (0.501, 0.5, False),
        (None, 0.5, False),
        (0.4, None, False),
    ],
)
def test_no_better_than_the_majority_class(value: float, majority: float, no_better: bool) -> None:
    found = Metric("accuracy", value, majority=majority)
    assert found.no_better_than_majority is found.no_better_than_majority is no_better


def test_what_was_measured_on_tells_what_can_be_compared() -> None:
    assert RECORD.measured_on == "advglue/sst2 under pwws_rift (data aaaaaaaaaaaa)"
    others = [
        dataclasses.replace(RECORD, task="sst2"),
        dataclasses.replace(RECORD, attack=None),
        dataclasses.replace(RECORD, checksums={"data": "b" * 64}),
        dataclasses.replace(RECORD, checksums={}),
    ]
    assert len({record.measured_on for record in (RECORD, *others)}) == 5
    same = dataclasses.replace(RECORD, model="plain", seed=4, marks={})
    assert same.measured_on == RECORD.measured_on


# Every format that was ever written -----------------------------------------------------------


def test_format_1_the_record_of_a_training_run() -> None:
    found = read_record(TRAINING)
    assert (found.kind, found.model, found.task) == ("training", "training-format-1", "reviews")
    assert (found.seed, found.device, found.seconds) == (3, "cpu", 12.5)
    assert found.metric("accuracy", "validation") == Metric(
        "accuracy", 0.75, *wilson(6, 8), total=8, group="validation"
    )
    assert found.metric("accuracy", "held_out").total == 20
    hull = found.metric("hull_accuracy", "held_out")
    assert (hull.count, hull.total) == (None, 8)  # as many as are attacked
    assert found.metric("loss", "held_out") == Metric("loss", 0.625, group="held_out")
    assert found.metric("distance") == Metric("distance", 0.015625)
    assert set(found.checksums) == {
        *("data/train", "data/validation", "data/held_out", "source/train", "lexicon/substitutes")
    }
    assert found.environment["commit"].startswith("0123456789")


def test_format_1_has_its_curves_and_residuals() -> None:
    assert read_record(TRAINING).series == (
        Series("residual", (1.0, 2.0), (0.03125, 0.0625)),
        Series("loss", (8.0, 16.0), (0.875, 0.75), "train"),
        Series("loss", (8.0, 16.0), (0.5, 0.5625), "validation"),
        Series("accuracy", (8.0, 16.0), (0.75, 0.625), "validation"),
        Series("hull_accuracy", (8.0, 16.0), (0.5, 0.5), "validation"),
        Series("distance", (8.0, 16.0), (0.015625, 0.03125)),
    )


def test_format_1_is_still_the_same_configuration() -> None:
    found: TrainConfig = decode(TrainConfig, read_record(TRAINING).config)
    assert (found.seed, found.selection.attacked, found.data.max_length) == (3, 8, 32)
    assert isinstance(found.objective, Rift)
    assert found.connection is not None


def test_format_2_the_record_of_an_evaluation(tmp_path: Path) -> None:
    found = read_record(EVALUATION)
    assert (found.kind, found.attack, found.seed) == ("evaluation", "pwws_rift", 3)
    assert found.seeds == {"attack": 0, "sample": 0}
    assert found.metric("accuracy_under_attack") == Metric(
        "accuracy_under_attack", 0.5, 0.236593, 0.763407, 5, 10, "", 0.6, 0.5
    )
    assert found.metric("accuracy_under_attack").no_better_than_majority
    assert found.metric("similarity").value is None
    assert found.marks["accuracy_under_attack"] == "1111100000"
    assert [series.name for series in found.series] == ["moved_attack", "moved_random"]
    again = write_record(found, tmp_path / "again.json")
    written = json.loads(again.read_text())
    assert written == {**json.loads(EVALUATION.read_text()), "labels": []}  # came later
    outcomes = OutcomesFile(EVALUATION.with_name(found.outcomes))
    assert [outcome.status for outcome in outcomes] == ["succeeded", "failed", "skipped"]


def test_every_kept_name_has_a_definition() -> None:
    for record in (read_record(TRAINING), read_record(EVALUATION)):
        assert {metric.name for metric in record.metrics} <= set(METRICS)
        assert {series.name for series in record.series} <= set(SERIES)


# Training runs that are damaged ---------------------------------------------------------------


def training(folder: Path, log: bytes | None = None, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = json.loads(TRAINING.read_text()) | changes
    path = folder / "run.json"
    path.write_text(json.dumps({name: value for name, value in content.items() if value != "gone"}))
    if log is not None:
        (folder / "log.jsonl").write_bytes(log)
    return path


@pytest.mark.parametrize("held", [63 / 504, 63 / 501])
def test_a_share_of_more_examples_than_were_asked_for_is_believed(
    held: float, tmp_path: Path
) -> None:
    """Earlier versions filled the last batches of several processes up, and counted all rows."""
    content = json.loads(TRAINING.read_text())
    data = {**content["data"], "parts": {"validation": {"examples": 800, "sha256": "v"}}}
    config = {**content["config"], "selection": {"attacked": 500}}
    metrics = {"validation_hull_accuracy": held}
    path = training(tmp_path, data=data, config=config, metrics=metrics)
    hull = read_record(path).metric("hull_accuracy", "validation")
    assert (hull.value, hull.count, hull.total) == (held, None, 500)
    assert hull.low < held < hull.high


def test_a_run_without_its_log_has_no_curves(tmp_path: Path) -> None:
    found = read_record(training(tmp_path))
    assert [series.name for series in found.series] == ["residual"]
    assert read_record(training(tmp_path, readings=[])).series == ()


@pytest.mark.parametrize("torn", [b'{"step": 16, "lo', b"\xff\xfe", b"", b"[1]\n7\n"])
def test_a_torn_log_gives_the_curves_up_to_there(torn: bytes, tmp_path: Path) -> None:
    lines = b'{"step": 8, "loss": 0.5}\n{"loss": 0.5}\n{"step": 9, "loss": NaN}\n' + torn
    found = read_record(training(tmp_path, log=lines))
    assert found.series[1:] == (Series("loss", (8.0,), (0.5,), "train"),)


def test_a_run_is_called_by_its_folder_from_inside_it_too(tmp_path: Path, monkeypatch) -> None:
    training(tmp_path / "rift")
    monkeypatch.chdir(tmp_path / "rift")
    assert read_record(Path("run.json")).model == "rift"


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "gone"},
        {"data": None},
        {"metrics": []},
        {"metrics": {"validation_accuracy": "all"}},
        {"metrics": {"validation_accuracy": 7.0}},
        {"readings": [{}]},
        {"environment": "gone"},
    ],
)
def test_what_is_no_training_run_is_told(changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json is no record of a training run \("):
        read_record(training(tmp_path, **changes))


# What is no record ----------------------------------------------------------------------------

GOOD = json.loads(EVALUATION.read_text())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is no record: it is not JSON"),
        ("{", "is no record: it is not JSON"),
        (b"\xff\xfe", "is no record: it is not JSON"),
        ("[" * 100_000, "is no record: it is not JSON"),
        ("[]", "is no record: expected a JSON object"),
        ('{"a": 1}', "is no record: it names no format"),
        (GOOD | {"record": 3}, "of format 3 and this version of Holdfast reads up to 2"),
        (GOOD | {"record": "x"}, "of format 'x' and this version"),
        ({"schema": 2}, "a training record of schema 2 and this version of Holdfast reads 1"),
        (GOOD | {"surprise": 1}, r"a\.json has no setting surprise; RunRecord takes kind, model"),
        (GOOD | {"kind": "guess"}, r"kind is 'guess'; expected one of training, evaluation"),
        (GOOD | {"device": 3}, r"a\.json\.device is 3; expected str"),
        (GOOD | {"marks": ["1"]}, r"a\.json\.marks is \['1'\]; expected a JSON object"),
        (GOOD | {"config": 3}, r"a\.json\.config is 3; expected a JSON object"),
        (GOOD | {"metrics": [{"name": "f1"}]}, r"a\.json\.metrics is incomplete"),
        (GOOD | {"metrics": [{"name": "f1", "value": "1"}]}, r"a\.json\.metrics"),
        (GOOD | {"series": [{"name": "loss", "x": [1], "y": []}]}, "1 places and 0 numbers"),
    ],
)
def test_what_is_no_record_is_told(content: object, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(text if isinstance(text, bytes) else str(text).encode())
    with pytest.raises(InputError, match=sentence):
        read_record(path)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json cannot be read \(No such file"):
        read_record(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_record(tmp_path)


# Folders of them ------------------------------------------------------------------------------


def test_a_folder_is_searched_to_the_bottom(tmp_path: Path) -> None:
    training(tmp_path / "runs" / "rift")
    write_record(RECORD, tmp_path / "results" / "rift" / "0" / "sst2" / "clean-0.json")
    beside = tmp_path / "runs" / "rift" / "model"
    beside.mkdir()
    (beside / "config.json").write_text('{"model_type": "bert"}')
    (beside / "folder.json").mkdir()
    (beside / "gone.json").symlink_to(tmp_path / "nowhere")
    found = find_records([tmp_path])
    assert [path.name for path, _ in found.records] == ["clean-0.json", "run.json"]
    assert found.records[0][1] == RECORD
    assert found.problems == ()


def test_a_bad_record_harms_no_other(tmp_path: Path) -> None:
    write_record(RECORD, tmp_path / "b.json")
    (tmp_path / "a.json").write_text('{"record": 9}')
    (tmp_path / "c.json").write_text('{"record": 2, "kind":')
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "run.json").write_text("{}")
    found = find_records([tmp_path])
    assert [record for _, record in found.records] == [RECORD]
    assert [problem.partition(" is ")[2][:20] for problem in found.problems] == [
        "a record of format 9",
        "no record: it is not",
        "no record: it names ",
    ]


def test_each_record_counts_once(tmp_path: Path, monkeypatch) -> None:
    path = write_record(RECORD, tmp_path / "results" / "a.json")
    monkeypatch.chdir(tmp_path)
    places = [Path("results/a.json"), Path("results"), path, Path("results/../results")]
    assert [found for found, _ in find_records(places).records] == [Path("results/a.json")]


def test_a_place_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no record at .*nowhere; give a record or a folder"):
        find_records([tmp_path / "nowhere"])
    assert find_records([tmp_path]).records == ()


# Outcomes -------------------------------------------------------------------------------------

OUTCOMES = [
    Outcome("a", ("one", "two"), 1, "succeeded", 1, (0.5, 0.5), ("un", "two"), 0, (0.75, 0.25))
    if number == 0
    else Outcome(f"{number}", (f"größer <b> {number**9}",), 0, "failed", 0, queries=number)
    for number in range(200)
]
OUTCOMES[0] = dataclasses.replace(OUTCOMES[0], changes=(Change(0, 0, "one", "un"),), words=2)
HEADER = {"outcomes": 1, "attack": {"name": "pwws_rift"}, "examples": len(OUTCOMES), "seed": 0}


def lines(header: object = HEADER) -> bytes:
    content = [header, *(outcome.to_json() for outcome in OUTCOMES)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content).encode()


def outcomes_file(folder: Path, content: bytes, name: str = "a.jsonl") -> OutcomesFile:
    (folder / name).write_bytes(content)
    return OutcomesFile(folder / name)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_outcomes_are_read_as_they_were(name: str, tmp_path: Path) -> None:
    content = gzip.compress(lines()) if name.endswith(".gz") else lines()
    file = outcomes_file(tmp_path, content, name)
    assert file.header() == HEADER
    assert list(file) == list(file) == OUTCOMES  # as often as one likes
    assert not file.torn


@pytest.mark.parametrize("cut", [1, 30, 400, 9000])
def test_a_truncated_file_gives_what_is_whole(cut: int, tmp_path: Path) -> None:
    file = outcomes_file(tmp_path, lines()[:-cut])
    found = list(file)
    assert file.torn
    assert found == OUTCOMES[: len(found)]
    assert 0 < len(found) < 200
    assert file.header() == HEADER


def test_outcomes_that_are_missing_to_the_line_are_missed_too(tmp_path: Path) -> None:
    file = outcomes_file(tmp_path, lines()[: lines().rindex(b"\n", 0, -1) + 1])
    assert list(file) == OUTCOMES[:-1]
    assert file.torn


def test_a_truncated_gzipped_file_gives_what_is_whole(tmp_path: Path) -> None:
    packed = gzip.compress(lines())
    file = outcomes_file(tmp_path, packed[: len(packed) // 2], "a.jsonl.gz")
    found = list(file)
    assert file.torn
    assert found == OUTCOMES[: len(found)]
    assert 50 < len(found) < 150


@pytest.mark.parametrize("length", [0, 20])
def test_a_file_cut_off_in_its_header_holds_nothing(length: int, tmp_path: Path) -> None:
    file = outcomes_file(tmp_path, lines()[:length])
    assert list(file) == []
    assert file.torn
    with pytest.raises(InputError, match="its first line is no header"):
        file.header()


def test_torn_is_about_the_last_reading(tmp_path: Path) -> None:
    file = outcomes_file(tmp_path, lines()[:-1])
    assert len(list(file)) == 199
    file.path.write_bytes(lines())
    assert len(list(file)) == 200
    assert not file.torn


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"text,label\na,1\n", r"a\.jsonl is no file of outcomes: its first line is no header"),
        (b"[1]\n", "its first line is no header"),
        (lines(HEADER | {"outcomes": 2}), "outcomes of format 2 and this version of Holdfast read"),
        (lines().replace(b'"id": "7"', b'"id: "7"'), r"Line 9 of .*a\.jsonl is not JSON"),
        (lines().replace(b'"id": "7"', b'"ld": "7"'), r"Line 9 of .*a\.jsonl: This is no outcome"),
        (lines().replace(b'"failed"', b'"lost"', 1), r"Line 3 of .*: An outcome has the status"),
        (lines() + b"\n".join(lines().splitlines()[-1:]) + b"\n", "promises 200 .* holds more"),
        (lines(HEADER | {"examples": 199}), "promises 199 outcomes and holds more; it was changed"),
        (
            lines().replace(b'"id": "7"', b'"id": "3"'),
            "Line 9 .* a second outcome of the example 3",
        ),
    ],
)
def test_what_are_no_outcomes_is_told(content: bytes, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        list(outcomes_file(tmp_path, content))


def test_a_file_of_outcomes_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        list(OutcomesFile(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match=r"cannot be read \(Not a gzipped file"):
        list(outcomes_file(tmp_path, lines(), "plain.jsonl.gz"))
    middle = bytearray(gzip.compress(lines()))
    middle[40:60] = b"\x00" * 20
    with pytest.raises(InputError, match=r"(cannot be read|is not JSON|no header)"):
        list(outcomes_file(tmp_path, bytes(middle), "damaged.jsonl.gz"))


# Without torch --------------------------------------------------------------------------------


def test_reading_records_needs_no_torch() -> None:
    code = f"""
import sys
from pathlib import Path
import holdfast.statistics
from holdfast.record import OutcomesFile, find_records, model_card_section, to_csv
found = find_records([Path({str(KEPT)!r})])
assert len(found.records) == 2, found.problems
records = [record for _, record in found.records]
for path, record in found.records:
    if record.outcomes:
        assert len(list(OutcomesFile(path.with_name(record.outcomes)))) == 3
assert to_csv(records) and model_card_section(records)
print([name for name in ("torch", "transformers", "numpy", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
