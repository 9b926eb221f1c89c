"""One number of many records: what counts as a training, a sample, a look at the same."""

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from holdfast.record import Metric, RunRecord, model_card_section
from holdfast.record.pooling import by_training, lined_up, pool
from holdfast.statistics import bootstrap_mean, mcnemar, wilson


def record(given: str, seed: int | None = 0, data: str = "d", **fields: Any) -> RunRecord:
    right, total = given.count("1"), len(given)
    metric = Metric(
        "accuracy", right / total, *wilson(right, total), right, total, majority=0.5, chance=0.25
    )
    known: dict[str, Any] = {
        "metrics": (metric,),
        "marks": {"accuracy": given},
        "checksums": {"data": data, "model": f"model {seed}"},
    }
    return RunRecord("evaluation", "m", "sst2", seed, {}, **(known | fields))


def test_one_record_keeps_its_metric() -> None:
    only = record("1101")
    found = pool([only], "accuracy")
    assert found.metric is only.metrics[0]
    assert (found.trainings, found.data) == (1, {"d"})
    assert pool([only], "f1") is None
    assert pool([], "accuracy") is None
    assert pool([record("1101", metrics=(Metric("accuracy", None),))], "accuracy") is None


def test_trainings_are_many_and_looks_at_one_training_are_not() -> None:
    rows = ["1101" * 10, "1001" * 10]
    expected = bootstrap_mean(rows)
    found = pool([record(row, seed) for seed, row in enumerate(rows)], "accuracy")
    assert (found.metric.low, found.metric.high) == (expected.low, expected.high)
    assert (found.trainings, found.metric.total, found.metric.majority) == (2, 40, 0.5)
    looks = pool([record(row, seeds={"attack": n}) for n, row in enumerate(rows)], "accuracy")
    assert (looks.trainings, looks.metric.total) == (1, 40)
    assert looks.metric.value == found.metric.value == pytest.approx(0.625)


def test_a_seed_that_is_shared_is_no_training_that_is() -> None:
    other = record("1001", checksums={"data": "d", "model": "trained again"})
    assert len(by_training([record("1101"), other])) == 2
    unknown = record("1101", None)
    assert len(by_training([unknown, record("1111", None)])) == 1  # the later stays
    assert pool([unknown, record("1111", None)], "accuracy").metric.value == 1.0


def test_samples_of_one_training_are_one_share_and_no_surer_than_one_of_them() -> None:
    found = pool([record("1" * 5 + "0" * 5), record("1" * 20, data="e")], "accuracy")
    small, large = wilson(5, 10), wilson(20, 20)
    assert found.metric.low == pytest.approx((10 * small[0] + 20 * large[0]) / 30)
    assert found.metric.high == pytest.approx((10 * small[1] + 20 * large[1]) / 30)
    assert (found.metric.value, found.metric.total, found.trainings) == (25 / 30, 20, 1)


def test_the_same_sample_under_another_checksum_tells_nothing_new() -> None:
    rows = ["1101" * 10, "1001" * 10]
    once = [record(row, seed) for seed, row in enumerate(rows)]
    again = [record(row, seed, data="e") for seed, row in enumerate(rows)]
    one, both = pool(once, "accuracy").metric, pool([*once, *again], "accuracy").metric
    assert (both.low, both.high, both.total) == pytest.approx((one.low, one.high, one.total))


def test_of_several_samples_the_largest_is_lined_up() -> None:
    small, large = (
        [record(row, seed, data=data) for seed, row in enumerate(rows)]
        for data, rows in (("a", ("11", "10")), ("b", ("1110", "1000")))
    )
    assert lined_up([*small, *large], "accuracy") == ["1110", "1000"]
    equal = [record("01", data="c"), record("11", data="a")]
    assert lined_up(equal, "accuracy") == lined_up(equal[::-1], "accuracy") == ["11"]


def test_samples_of_one_file_promise_no_more_than_they_hold() -> None:
    """Five samples of nine tenths each: put end to end they cover 63 % and tell a third apart."""
    rng, trials = np.random.default_rng(0), 100
    samples = [rng.permutation(500)[:450] for _ in range(5)]
    truth, covered, told = NormalDist().cdf(0.7 / 1.49**0.5), 0, 0
    for _ in range(trials):
        hard = rng.normal(size=500)  # for both models, which are equally good
        rights = [hard + 0.7 * rng.normal(size=500) > -0.7 for _ in range(2)]
        found = [
            [record(as_marks(right[one]), data=str(n)) for n, one in enumerate(samples)]
            for right in rights
        ]
        interval = pool(found[0], "accuracy").metric
        covered += interval.low <= truth <= interval.high
        (one,), (other,) = (lined_up(of, "accuracy") for of in found)
        told += mcnemar(one, other) < 0.05
    assert interval.total == 450
    assert covered / trials >= 0.93
    assert told / trials <= 0.07


def as_marks(right: np.ndarray) -> str:
    return (right.astype(np.uint8) + ord("0")).tobytes().decode()


def test_attacks_with_other_settings_are_never_taken_together() -> None:
    def attacked(given: str, settings: str, **fields: Any) -> RunRecord:
        checksums = {"data": "d", "model": "m", "attack": settings}
        return record(given, attack="pwws", checksums=checksums, **fields)

    def under(given: str, settings: str) -> RunRecord:
        one = attacked(given, settings)
        metrics = (*one.metrics, Metric("accuracy_under_attack", 0.5))
        return replace(one, metrics=metrics, marks={**one.marks, "accuracy_under_attack": given})

    both = [under("1100", "large"), under("1110", "small")]
    assert pool(both, "accuracy_under_attack") is None
    assert lined_up(both, "accuracy_under_attack") == []
    assert lined_up(both[:1], "accuracy_under_attack") == ["1100"]
    assert pool([attacked("1100", "large"), attacked("1100", "small")], "accuracy") is not None
    sealed = replace(both[1], checksums={**both[1].checksums, "outcomes": "of now"})
    assert pool([both[0], sealed], "accuracy_under_attack") is None


def test_other_examples_have_a_mean_without_an_interval_and_are_not_lined_up() -> None:
    records = [record("1110"), record("1000", 1, data="others")]
    found = pool(records, "accuracy")
    assert (found.metric.value, found.metric.low, found.trainings) == (0.5, None, 2)
    assert found.data == {"d", "others"}
    assert lined_up(records, "accuracy") == []
    assert lined_up([record("1110"), record("1000", 1)], "accuracy") == ["1110", "1000"]
    assert lined_up([record("1110"), record("10", 1)], "accuracy") == []


def test_only_what_all_trainings_have_counts_where_there_is_such() -> None:
    records = [record("1111"), record("0000", data="e"), record("1100", 1)]
    found = pool(records, "accuracy")
    assert (found.metric.value, found.data) == (0.75, {"d"})


def test_marks_that_are_missing_leave_a_mean() -> None:
    found = pool([record("1111"), record("1100", 1, marks={})], "accuracy")
    assert (found.metric.value, found.metric.low) == (0.75, None)


def test_groups_have_marks_of_their_own() -> None:
    records = [
        record("111000", n, metrics=(Metric("accuracy", 0.5, total=3, group="word"),))
        for n in range(2)
    ]
    assert pool(records, "accuracy", "word").metric.low is None
    assert lined_up(records, "accuracy", "word") == []
    assert pool(records, "accuracy") is None


def test_a_model_card_says_the_same() -> None:
    """Of an attack with two seeds both count, as they do in a report."""
    attacked = [
        record(
            "1" * 9 + "0",
            attack="pwws",
            seeds={"attack": seed},
            metrics=(Metric("accuracy_under_attack", value, total=10),),
            marks={"accuracy_under_attack": "1" * right + "0" * (10 - right)},
        )
        for seed, (value, right) in enumerate(((0.9, 9), (0.7, 7)))
    ]
    found = pool(attacked, "accuracy_under_attack").metric
    ends = f"80.0 % | {100 * found.low:.1f} % to {100 * found.high:.1f} %"
    assert ends in model_card_section(attacked)
