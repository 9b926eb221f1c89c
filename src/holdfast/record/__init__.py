"""Records of what was run: configuration as JSON, the environment, whole files; no torch."""

from holdfast.record.codec import decode, encode
from holdfast.record.collection import write_collection
from holdfast.record.definitions import METRICS, SERIES
from holdfast.record.environment import commit, describe_environment, version
from holdfast.record.export import to_csv, to_pandas, to_rows
from holdfast.record.files import draft_of, write_atomically
from holdfast.record.model_card import model_card_section
from holdfast.record.notes import read_note, write_note
from holdfast.record.outcome import Change, Outcome, Status
from holdfast.record.outcomes_file import OutcomesFile
from holdfast.record.outputs import refuse_file, refuse_folder
from holdfast.record.reading import (
    Found,
    find_records,
    read_collection,
    read_record,
    write_record,
)
from holdfast.record.run_record import WARNING, Metric, RunRecord, Series

__all__ = [
    "METRICS",
    "SERIES",
    "WARNING",
    "Change",
    "Found",
    "Metric",
    "Outcome",
    "OutcomesFile",
    "RunRecord",
    "Series",
    "Status",
    "commit",
    "decode",
    "describe_environment",
    "draft_of",
    "encode",
    "find_records",
    "model_card_section",
    "read_collection",
    "read_note",
    "read_record",
    "refuse_file",
    "refuse_folder",
    "to_csv",
    "to_pandas",
    "to_rows",
    "version",
    "write_atomically",
    "write_collection",
    "write_note",
    "write_record",
]
