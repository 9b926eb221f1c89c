"""scripts/own_rate.py: each model at the learning rate that held-out examples choose."""

from typing import Literal

import pytest

from holdfast.record import Metric, RunRecord

SLOW, FAST = 1e-4, 4e-4


@pytest.fixture(scope="module")
def own_rate(script):
    return script("own_rate")


def record(kind: Literal["training", "evaluation"], model: str, accuracy: float, seed: int):
    return RunRecord(kind, model, "sst2", seed, {}, metrics=(Metric("accuracy", accuracy),))


def training(model: str, accuracy: float, seed: int = 0) -> RunRecord:
    return record("training", model, accuracy, seed)


def on_test(model: str, accuracy: float) -> RunRecord:
    return record("evaluation", model, accuracy, 0)


def test_held_out_examples_choose_and_the_test_examples_do_not(own_rate):
    slow = [training("EX", 0.6), on_test("EX", 0.9)]
    fast = [training("EX", 0.8), on_test("EX", 0.5)]
    assert own_rate.at_own_rate({SLOW: slow, FAST: fast}) == tuple(fast)


def test_each_model_has_a_rate_of_its_own(own_rate):
    tried = {
        SLOW: [training("BERT", 0.9), training("EX", 0.6)],
        FAST: [training("BERT", 0.8), training("EX", 0.7)],
    }
    assert own_rate.best_rates(tried) == {"BERT": SLOW, "EX": FAST}


def test_a_rate_is_chosen_by_the_mean_over_the_seeds(own_rate):
    slow = [training("EX", 0.7, seed) for seed in (0, 1)]
    fast = [training("EX", 0.9, 0), training("EX", 0.4, 1)]
    assert own_rate.at_own_rate({SLOW: slow, FAST: fast}) == tuple(slow)


def test_a_model_without_the_same_chance_at_both_rates_is_left_out(own_rate):
    tried = {
        SLOW: [training("one rate", 0.9), training("other seeds", 0.9, seed=0)],
        FAST: [training("other seeds", 0.9, seed=1)],
    }
    assert own_rate.at_own_rate(tried) == ()


def test_the_table_marks_the_chosen_rate_and_counts_in_order(own_rate):
    tried = {
        SLOW: [training("T10", 0.625), training("T5", 0.5)],
        FAST: [training("T10", 0.5), training("T5", 0.75)],
    }
    _, _, *rows = own_rate.rates_table(tried)
    assert rows == ["| T5 | 1 | 50.0 | **75.0** |", "| T10 | 1 | **62.5** | 50.0 |", ""]
