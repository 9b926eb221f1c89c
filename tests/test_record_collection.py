"""Many records in one file: the same ones come back, without the texts."""

import pytest

from holdfast.errors import InputError
from holdfast.record import (
    Metric,
    RunRecord,
    find_records,
    read_collection,
    write_collection,
    write_record,
)

RECORD = RunRecord(
    kind="evaluation",
    model="plain",
    task="sst2",
    seed=0,
    config={},
    attack="pwws_rift",
    metrics=(Metric("accuracy_under_attack", 0.25, count=1, total=4),),
    marks={"accuracy_under_attack": "0100"},
    outcomes="pwws_rift-0.outcomes.jsonl",
)


def test_what_is_written_is_read_but_for_the_outcomes(tmp_path):
    path = write_collection([RECORD, RECORD], tmp_path / "deep" / "m.records.jsonl.gz")
    found = read_collection(path)
    assert [record.marks for record in found] == [RECORD.marks] * 2
    assert {record.outcomes for record in found} == {None}
    assert found[0].metrics == RECORD.metrics


def test_the_same_records_give_the_same_bytes(tmp_path):
    one, other = (write_collection([RECORD], tmp_path / f"{n}.records.jsonl.gz") for n in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_a_folder_is_searched_for_records_and_for_files_of_many(tmp_path):
    write_record(RECORD, tmp_path / "one.json")
    write_collection([RECORD, RECORD], tmp_path / "many.records.jsonl.gz")
    assert len(find_records([tmp_path]).records) == 3


def test_a_broken_file_is_named_and_the_others_are_read(tmp_path):
    path = write_collection([RECORD], tmp_path / "broken.records.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-12])
    write_record(RECORD, tmp_path / "one.json")
    found = find_records([tmp_path])
    assert len(found.records) == 1
    assert "broken.records.jsonl.gz" in found.problems[0]
    with pytest.raises(InputError, match="cannot be read"):
        read_collection(path)
