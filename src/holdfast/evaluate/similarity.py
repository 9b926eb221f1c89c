"""How much of the meaning the successful attacks leave, to a sentence encoder."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from holdfast.attack.encoding import sentence_vectors
from holdfast.attack.sources import ModelFolder
from holdfast.record import Metric, Outcome
from holdfast.statistics import bootstrap_values

NAME = "similarity"


def similarity(outcomes: Iterable[Outcome], encoder: Path) -> Metric:
    """Return the mean cosine between text and adversarial text, over the successes.

    Both texts of a pair are one to the encoder, as they are to the constraint of that name.
    Without a success there is no value.
    """
    pairs = [
        ("\n".join(outcome.texts), "\n".join(outcome.adversarial))
        for outcome in outcomes
        if outcome.adversarial is not None
    ]
    if not pairs:
        return Metric(NAME, None)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    numbers = {text: number for number, text in enumerate(texts)}
    vectors = sentence_vectors(ModelFolder.of(encoder), texts)  # of length 1
    ones, others = (vectors[[numbers[pair[side]] for pair in pairs]] for side in (0, 1))
    cosines = np.clip((ones * others).sum(axis=1), -1.0, 1.0)
    found = bootstrap_values([cosines.tolist()]).within(-1.0, 1.0)
    return Metric(NAME, found.value, found.low, found.high)
