"""Classifiers under attack: a model, a checkpoint folder or a function behind one interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.record import Change
from holdfast.victim.function import FunctionVictim
from holdfast.victim.given import GivenVictim, as_victim
from holdfast.victim.keys import row_keys
from holdfast.victim.space import DELETED, UNKNOWN, Place, Row, Rows, Space
from holdfast.victim.victim import (
    LogProbabilities,
    Opened,
    Query,
    Reading,
    Session,
    Tickets,
    Victim,
)

if TYPE_CHECKING:
    from holdfast.victim.checkpoint import load
    from holdfast.victim.model import ModelVictim
    from holdfast.victim.text_classifier import TextClassifier

_NEED_TORCH = {
    "ModelVictim": "model",
    "TextClassifier": "text_classifier",
    "load": "checkpoint",
}

__all__ = [
    "DELETED",
    "UNKNOWN",
    "Change",
    "FunctionVictim",
    "GivenVictim",
    "LogProbabilities",
    "ModelVictim",
    "Opened",
    "Place",
    "Query",
    "Reading",
    "Row",
    "Rows",
    "Session",
    "Space",
    "TextClassifier",
    "Tickets",
    "Victim",
    "as_victim",
    "load",
    "row_keys",
]


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        return getattr(import_module(f"holdfast.victim.{_NEED_TORCH[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
