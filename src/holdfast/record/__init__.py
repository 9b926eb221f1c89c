"""Records of what was run: configuration as JSON, the environment, whole files; no torch."""

from holdfast.record.codec import decode, encode
from holdfast.record.environment import commit, describe_environment, version
from holdfast.record.files import draft_of, write_atomically
from holdfast.record.notes import read_note, write_note

__all__ = [
    "commit",
    "decode",
    "describe_environment",
    "draft_of",
    "encode",
    "read_note",
    "version",
    "write_atomically",
    "write_note",
]
