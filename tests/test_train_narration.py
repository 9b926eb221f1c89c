"""What a run says of its examples."""

import dataclasses
import logging

import pytest
from train_tiny import examples

from holdfast.data import find_task
from holdfast.train.examples import RunExamples
from holdfast.train.narration import tell_examples


def numbered(count: int, start: int = 0):
    """Examples of which no two have the same text."""
    return [
        dataclasses.replace(example, texts=(f"{example.texts[0]} {start + at}",))
        for at, example in enumerate(examples(count))
    ]


@pytest.mark.parametrize("known", [0, 3])
def test_held_out_texts_that_were_trained_on_are_counted(
    known: int, caplog: pytest.LogCaptureFixture
) -> None:
    train, validation, new = numbered(8), numbered(4, start=8), numbered(5, start=12)
    held_out = [*new, *[train[0], train[1], validation[0]][:known]]
    with caplog.at_level(logging.INFO):
        tell_examples(RunExamples(find_task("sst2"), train, validation, held_out))
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    if known:
        (said,) = warned
        assert said.startswith("3 of the 8 held-out texts are among those to train or validate")
    else:
        assert not warned


def test_validation_texts_that_are_trained_on_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    train = [dataclasses.replace(one, texts=(*one.texts, "and so on")) for one in numbered(8)]
    half_known = dataclasses.replace(train[0], texts=(train[0].texts[0], "or not"))
    pairs = [train[0], train[1], half_known]
    with caplog.at_level(logging.WARNING):
        tell_examples(RunExamples(find_task("mnli"), train, pairs, None))
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("2 of the 3 validation texts are among those to train, word for word")
