"""Fine-tuning: `RobustTrainer` for one's own script, `fine_tune` for a whole run by its recipe."""

from holdfast.train.collate import CandidateBatch
from holdfast.train.config import DataConfig, Optimisation, Selection, TrainConfig
from holdfast.train.examples import RunExamples, gather_examples
from holdfast.train.fine_tune import fine_tune
from holdfast.train.result import TrainResult
from holdfast.train.robustness import HullCheck
from holdfast.train.sampler import ClassBalancedSampler
from holdfast.train.trainer import RobustTrainer

__all__ = [
    "CandidateBatch",
    "ClassBalancedSampler",
    "DataConfig",
    "HullCheck",
    "Optimisation",
    "RobustTrainer",
    "RunExamples",
    "Selection",
    "TrainConfig",
    "TrainResult",
    "fine_tune",
    "gather_examples",
]
