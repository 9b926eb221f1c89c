"""Low-resource samples and the train/validation split, the same for the same seed anywhere.

The order of the protocol: take the sample of N examples first, then split it 8:2, so that the
model sees N examples in all. Neither is stratified, as in the paper; a class that is lost on the
way is reported, and the loss of all classes but one is an error.
"""

import logging
import random
from collections.abc import Sequence

from holdfast.data.files import check_two_classes
from holdfast.data.task import Example
from holdfast.errors import InputError

_log = logging.getLogger(__name__)


def sample(examples: Sequence[Example], count: int, *, seed: int) -> list[Example]:
    """Draw `count` examples without replacement; a smaller draw is the start of a larger one."""
    if not 1 <= count <= len(examples):
        raise InputError(
            f"A sample of {count} examples was asked for; choose from 1 to {len(examples)}."
        )
    drawn = [examples[index] for index in random_order(len(examples), f"sample {seed}")[:count]]
    _report_lost_classes(examples, drawn, f"The sample of {count} examples with seed {seed}")
    return drawn


def sample_to_train(examples: Sequence[Example], count: int, *, seed: int) -> list[Example]:
    """Draw as `sample` does, at least two classes."""
    drawn = sample(examples, count, seed=seed)
    check_two_classes(drawn, f"The sample of {count} examples with seed {seed}")
    return drawn


def split_train_validation(
    examples: Sequence[Example], *, share: float = 0.8, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split examples at random into a training part of `share` and a validation part."""
    if not 0 < share < 1:
        raise InputError(f"The training share is {share}; expected a number between 0 and 1.")
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise InputError(
            f"A share of {share} of {len(examples)} examples leaves one part empty; "
            "take more examples or another share."
        )
    order = [examples[index] for index in random_order(len(examples), f"split {seed}")]
    train, validation = order[:count], order[count:]
    what = f"The training part with seed {seed}"
    check_two_classes(train, what)
    _report_lost_classes(examples, train, what)
    return train, validation


def random_order(count: int, seed: str) -> list[int]:
    """Shuffle rows by sorting random keys: Python promises the same `random()` in every version.

    The seed is a string, so that a sample and a split by the same number are independent.
    """
    generator = random.Random(seed)
    keys = [generator.random() for _ in range(count)]
    return sorted(range(count), key=keys.__getitem__)


def _report_lost_classes(before: Sequence[Example], after: Sequence[Example], what: str) -> None:
    labels = {example.label for example in before}
    lost = labels - {example.label for example in after}
    if lost:
        _log.warning("%s has no example of the labels %s.", what, sorted(lost))
