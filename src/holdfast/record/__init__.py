"""Records of what was run: configuration as JSON, the environment; no torch."""

from holdfast.record.codec import decode, encode
from holdfast.record.environment import commit, describe_environment, version

__all__ = ["commit", "decode", "describe_environment", "encode", "version"]
