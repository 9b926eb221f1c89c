"""Attacks on classifiers of text: searches over substitutes, run many at a time, and re-checked."""

from holdfast.attack import recipes
from holdfast.attack.allowed_sets import AllowedSets, read_allowed_sets
from holdfast.attack.core import (
    Answer,
    Ask,
    Attack,
    Comparison,
    Found,
    Problem,
    Search,
    Steps,
    Substitutes,
    TextConstraint,
    Transformation,
    Verdict,
    WordConstraint,
    describe,
)
from holdfast.attack.goal import Goal, ScoreDecrease, Targeted, Untargeted
from holdfast.attack.material import Material, build_attack
from holdfast.attack.run import run_attack
from holdfast.attack.stream import Process, attack_to_file, read_outcomes
from holdfast.attack.summary import Share, Summary, summarise
from holdfast.attack.transformation import Neighbours
from holdfast.attack.verify import verify
from holdfast.record import Outcome
from holdfast.victim import DELETED, UNKNOWN, Change, Space

__all__ = [
    "DELETED",
    "UNKNOWN",
    "AllowedSets",
    "Answer",
    "Ask",
    "Attack",
    "Change",
    "Comparison",
    "Found",
    "Goal",
    "Material",
    "Neighbours",
    "Outcome",
    "Problem",
    "Process",
    "ScoreDecrease",
    "Search",
    "Share",
    "Space",
    "Steps",
    "Substitutes",
    "Summary",
    "Targeted",
    "TextConstraint",
    "Transformation",
    "Untargeted",
    "Verdict",
    "WordConstraint",
    "attack_to_file",
    "build_attack",
    "describe",
    "read_allowed_sets",
    "read_outcomes",
    "recipes",
    "run_attack",
    "summarise",
    "verify",
]
