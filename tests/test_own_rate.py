"""scripts/own_rate.py: each model at the learning rate that held-out examples choose."""

import pytest

from holdfast.record import Metric, RunRecord

SLOW, FAST = 1e-4, 4e-4


@pytest.fixture(scope="module")
def own_rate(script):
    return script("own_rate")


def training(model: str, accuracy: float, seed: int = 0, task: str = "sst2") -> RunRecord:
    held_out = Metric("accuracy", accuracy, group="validation")
    return RunRecord("training", model, task, seed, {}, metrics=(held_out,))


def on_test(model: str, accuracy: float) -> RunRecord:
    return RunRecord("evaluation", model, "sst2", 0, {}, metrics=(Metric("accuracy", accuracy),))


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


def test_every_task_has_a_part_in_the_choice(own_rate):
    slow = [training("EX", 0.9, task="qqp"), training("EX", 0.5, task="rte")]
    fast = [training("EX", 0.5, task="qqp"), training("EX", 0.6, task="rte")]
    assert own_rate.at_own_rate({SLOW: slow, FAST: fast}) == tuple(slow)


def test_only_held_out_examples_have_a_part(own_rate):
    elsewhere = RunRecord("training", "EX", "sst2", 0, {}, metrics=(Metric("accuracy", 0.9),))
    assert own_rate.held_out([elsewhere]) == {}


def test_the_table_marks_the_chosen_rate_and_counts_in_order(own_rate):
    tried = {
        SLOW: [training("T10", 0.625), training("T5", 0.5)],
        FAST: [training("T10", 0.5), training("T5", 0.75)],
    }
    _, _, *rows = own_rate.rates_table(tried)
    assert rows == ["| T5 | 1 | 50.0 | **75.0** |", "| T10 | 1 | **62.5** | 50.0 |", ""]
