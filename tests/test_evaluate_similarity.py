"""The mean cosine of the successes, against the encoder asked directly."""

from pathlib import Path

import attack_aids
import numpy as np
import pytest

from holdfast.attack.encoding import sentence_vectors
from holdfast.attack.sources import ModelFolder
from holdfast.errors import InputError
from holdfast.evaluate.similarity import similarity
from holdfast.record import Outcome
from holdfast.statistics import bootstrap_values


def outcome(number: int, texts: tuple[str, ...], adversarial: tuple[str, ...] | None) -> Outcome:
    status = "failed" if adversarial is None else "succeeded"
    return Outcome(f"test:{number}", texts, 1, status, 1, adversarial=adversarial)


OUTCOMES = [
    outcome(0, ("the film was good",), ("the movie was good",)),
    outcome(1, ("a bad film",), None),
    outcome(2, ("a great picture", "was fine"), ("a great picture", "was bad")),
]


def test_it_is_the_mean_cosine_of_the_successes(tmp_path: Path) -> None:
    folder = attack_aids.encoder(tmp_path / "encoder")
    texts = ["the film was good", "a great picture\nwas fine"]
    changed = ["the movie was good", "a great picture\nwas bad"]
    vectors = sentence_vectors(ModelFolder.of(folder), texts + changed)
    cosines = (vectors[:2] * vectors[2:]).sum(axis=1)
    assert abs(cosines[0] - cosines[1]) > 1e-3
    found = similarity(iter(OUTCOMES), folder)
    assert found.value == pytest.approx(np.mean(cosines), abs=1e-6)
    interval = bootstrap_values([cosines.tolist()])
    assert found.low == pytest.approx(interval.low, abs=1e-6)
    assert found.low < found.value < found.high <= 1.0


def test_without_a_success_there_is_no_value(tmp_path: Path) -> None:
    found = similarity(OUTCOMES[1:2], tmp_path / "never looked at")
    assert (found.name, found.value, found.low) == ("similarity", None, None)


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no model"):
        similarity(OUTCOMES, tmp_path)
