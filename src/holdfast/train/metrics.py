"""Loss and accuracy of logits, in numpy, over all examples at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from transformers.trainer_utils import EvalPrediction

from holdfast.text.two_readings import Blend

Metrics = Callable[[EvalPrediction], dict[str, float]]


def metrics_of(blend: Blend) -> Metrics:
    """Return what measures a model; trusted less than wholly, its rows are of two readings."""
    if blend.trust == 1:
        return loss_and_accuracy

    def of_both(prediction: EvalPrediction) -> dict[str, float]:
        logits = np.asarray(prediction.predictions).astype(np.float64)
        known = logits - _log_sum_exp(logits)[:, None]
        half = len(known) // 2
        mixed = blend(known[:half], known[half:])
        return loss_and_accuracy(EvalPrediction(mixed, np.asarray(prediction.label_ids)[:half]))

    return of_both


def loss_and_accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Return the mean cross-entropy and the share of right labels.

    Trainer averages the losses of batches, which weighs examples unequally where processes share
    an incomplete batch. The `loss` here takes the place of that average in its report.
    """
    logits, labels = np.asarray(prediction.predictions), np.asarray(prediction.label_ids)
    losses = _log_sum_exp(logits.astype(np.float64)) - logits[np.arange(len(labels)), labels]
    right = logits.argmax(axis=-1) == labels
    return {"loss": float(losses.mean()), "accuracy": float(right.mean())}


def _log_sum_exp(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = logits.max(axis=-1, keepdims=True)
    answer: NDArray[np.float64] = np.log(np.exp(logits - largest).sum(axis=-1)) + largest[..., 0]
    return answer
