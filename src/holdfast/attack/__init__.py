"""Attacks on classifiers of text: searches over substitutes, run many at a time, and re-checked."""

from holdfast.attack import recipes
from holdfast.attack.allowed_sets import AllowedSets, covered, letters, read_allowed_sets
from holdfast.attack.any_of import AnyOf
from holdfast.attack.certify import Proof, certify
from holdfast.attack.constraint import (
    EditDistance,
    EmbeddingDistance,
    LanguageModel,
    ModificationRate,
    PartOfSpeech,
    RepeatModification,
    SentenceSimilarity,
    StopWords,
)
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
from holdfast.attack.machine import Machine
from holdfast.attack.masked_words import MaskedWords
from holdfast.attack.material import Material, build_attack
from holdfast.attack.named_entities import NamedEntities
from holdfast.attack.run import run_attack
from holdfast.attack.search import (
    PWWS,
    Alzantot,
    Beam,
    Corner,
    Genetic,
    Greedy,
    HotFlip,
    RandomSearch,
)
from holdfast.attack.sources import EntityFile, ModelFolder, VectorFile, WordNetFolder
from holdfast.attack.stream import Process, attack_to_file, parts_of, read_outcomes
from holdfast.attack.summary import Share, Summary, summarise
from holdfast.attack.transformation import Neighbours
from holdfast.attack.typos import Typos
from holdfast.attack.vectors import VectorNeighbours
from holdfast.attack.verify import kept_aside, verify
from holdfast.attack.wordnet_synonyms import WordNetSynonyms
from holdfast.record import Outcome
from holdfast.victim import DELETED, UNKNOWN, Change, Space

__all__ = [
    "DELETED",
    "PWWS",
    "UNKNOWN",
    "AllowedSets",
    "Alzantot",
    "Answer",
    "AnyOf",
    "Ask",
    "Attack",
    "Beam",
    "Change",
    "Comparison",
    "Corner",
    "EditDistance",
    "EmbeddingDistance",
    "EntityFile",
    "Found",
    "Genetic",
    "Goal",
    "Greedy",
    "HotFlip",
    "LanguageModel",
    "Machine",
    "MaskedWords",
    "Material",
    "ModelFolder",
    "ModificationRate",
    "NamedEntities",
    "Neighbours",
    "Outcome",
    "PartOfSpeech",
    "Problem",
    "Process",
    "Proof",
    "RandomSearch",
    "RepeatModification",
    "ScoreDecrease",
    "Search",
    "SentenceSimilarity",
    "Share",
    "Space",
    "Steps",
    "StopWords",
    "Substitutes",
    "Summary",
    "Targeted",
    "TextConstraint",
    "Transformation",
    "Typos",
    "Untargeted",
    "VectorFile",
    "VectorNeighbours",
    "Verdict",
    "WordConstraint",
    "WordNetFolder",
    "WordNetSynonyms",
    "attack_to_file",
    "build_attack",
    "certify",
    "covered",
    "describe",
    "kept_aside",
    "letters",
    "parts_of",
    "read_allowed_sets",
    "read_outcomes",
    "recipes",
    "run_attack",
    "summarise",
    "verify",
]
