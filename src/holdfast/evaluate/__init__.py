"""Evaluation that cannot be fooled: every figure with its interval and its baselines.

A `Suite` says what is measured; each cell of it is one record in a folder. What needs torch is
imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.evaluate.cells import (
    AdaptiveCell,
    AdvGLUECell,
    AdvGLUETotal,
    AttackCell,
    Cell,
    CleanCell,
    Reading,
)
from holdfast.evaluate.checkpoint import Checkpoint, read_checkpoints
from holdfast.evaluate.measured import Measured
from holdfast.evaluate.named import Named
from holdfast.evaluate.progress import Progress, Silent
from holdfast.evaluate.suite import Suite

if TYPE_CHECKING:
    from holdfast.evaluate.elsewhere import record_of_outcomes
    from holdfast.evaluate.run import evaluate, evaluate_all

_NEED_TORCH = {"evaluate": "run", "evaluate_all": "run", "record_of_outcomes": "elsewhere"}

__all__ = [
    "AdaptiveCell",
    "AdvGLUECell",
    "AdvGLUETotal",
    "AttackCell",
    "Cell",
    "Checkpoint",
    "CleanCell",
    "Measured",
    "Named",
    "Progress",
    "Reading",
    "Silent",
    "Suite",
    "evaluate",
    "evaluate_all",
    "read_checkpoints",
    "record_of_outcomes",
]


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        return getattr(import_module(f"holdfast.evaluate.{_NEED_TORCH[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
