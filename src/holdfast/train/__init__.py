"""Fine-tuning: `RobustTrainer` for one's own script, `fine_tune` for a whole run by its recipe."""

from holdfast.train.config import DataConfig, Optimisation, TrainConfig
from holdfast.train.examples import RunExamples, gather_examples
from holdfast.train.fine_tune import fine_tune
from holdfast.train.result import TrainResult
from holdfast.train.trainer import RobustTrainer

__all__ = [
    "DataConfig",
    "Optimisation",
    "RobustTrainer",
    "RunExamples",
    "TrainConfig",
    "TrainResult",
    "fine_tune",
    "gather_examples",
]
