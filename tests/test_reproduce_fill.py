"""From records to a table: means, intervals, and what is missing."""

import math

import pytest

from holdfast.record import Metric, RunRecord, Series
from holdfast.reproduce.fill import Shelf, Value, mean, over_seeds
from holdfast.reproduce.table import Place, Source
from holdfast.statistics import bootstrap_mean, wilson

ACCURACY = Source("BERT", "advglue/sst2", "accuracy")


def record(right, seed=0, task="advglue/sst2", model="BERT", **other):
    count, total = right.count("1"), len(right)
    low, high = wilson(count, total)
    accuracy = Metric("accuracy", count / total, low, high, count, total, majority=0.6)
    word = Metric("accuracy", 0.5, 0.3, 0.7, 4, 8, group="word")
    return RunRecord(
        kind="evaluation",
        model=model,
        task=task,
        seed=seed,
        config={},
        metrics=(accuracy, word),
        **{"marks": {"accuracy": right}, **other},
    )


def test_one_seed_keeps_the_records_own_interval():
    found = Shelf([record("1101")]).find(ACCURACY)
    assert (found.value, found.seeds, found.examples) == (0.75, 1, 4)
    assert (found.low, found.high) == wilson(3, 4)
    assert not found.no_better_than_majority
    assert Shelf([record("1000")]).find(ACCURACY).no_better_than_majority


def test_several_seeds_are_drawn_anew_with_their_examples():
    marks = ["11010011", "11110011", "01010011"]
    records = [record(of, seed) for seed, of in enumerate(marks)]
    found = Shelf(records).find(ACCURACY)
    expected = bootstrap_mean(marks)
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert found.seeds == 3


def test_a_level_has_marks_of_its_own():
    source = Source("BERT", "advglue/sst2", "accuracy", group="word")
    without = Shelf([record("1101", 0), record("1001", 1)]).find(source)
    assert (without.value, without.low, without.high) == pytest.approx((0.5, 0.3, 0.7))
    marks = ["11001010", "01101010"]
    known = [record("1101", seed, marks={"accuracy/word": of}) for seed, of in enumerate(marks)]
    expected = bootstrap_mean(marks)
    assert Shelf(known).find(source).low == expected.low


def test_marks_of_other_examples_are_not_drawn_together():
    one, other = (record("1101", n, checksums={"data": str(n)}) for n in (0, 1))
    found = Shelf([one, other]).find(ACCURACY)
    assert (found.low, found.high) == pytest.approx(wilson(3, 4))  # the seeds agree


def attacked(seed, settings, model="BERT"):
    return record("1101", seed, model=model, attack="pwws", checksums={"attack": settings * 64})


def test_seeds_that_met_other_attacks_of_one_name_are_told():
    """The table has one number a row; who reads it must know that no one attacker left it."""
    met = [attacked(0, "a"), attacked(1, "a"), attacked(2, "b"), attacked(0, "a", "Theta")]
    shelf = Shelf([*met, attacked(4, "b", "Theta"), record("1101", 0, attack="textfooler")])
    source = Source("BERT", "advglue/sst2", "accuracy", attack="pwws")
    assert shelf.find(source).seeds == 3
    (told,) = shelf.attacks_apart([source, ACCURACY])
    assert told.startswith("pwws on advglue/sst2 is several attacks")
    assert "Most numbers are under pwws (settings aaaaaa)" in told
    assert "pwws (settings bbbbbb) met BERT (seed 2), Theta (seed 4)." in told
    assert list(shelf.attacks_apart([ACCURACY])) == []  # no number of it is shown
    assert list(Shelf(met[:2]).attacks_apart([source])) == []


def test_seeds_that_differ_widen_the_interval():
    same = over_seeds([Metric("accuracy", 0.5, 0.4, 0.6)] * 2)
    apart = over_seeds([Metric("accuracy", 0.4, 0.3, 0.5), Metric("accuracy", 0.6, 0.5, 0.7)])
    assert (same.low, same.high) == pytest.approx((0.4, 0.6))
    # Student's t of one degree of freedom, 12.706, times the standard error of 0.4 and 0.6
    assert (apart.low, apart.high) == (0.0, 1.0)  # 0.5 -+ 1.27, and a share is a share
    slow = over_seeds([Metric("latency_ms", 4.0, 3.0, 5.0), Metric("latency_ms", 6.0, 5.0, 7.0)])
    reach = math.hypot(1.0, 12.7062 * math.sqrt(2.0 / 2))
    assert (slow.low, slow.high) == pytest.approx((5.0 - reach, 5.0 + reach), rel=1e-4)
    assert over_seeds([]) is None
    assert over_seeds([Metric("latency_ms", 3.0)]) == Value(3.0)


def test_other_tasks_attacks_and_models_do_not_count():
    records = [record("1111", attack="pwws_rift"), record("1111", task="sst2")]
    assert Shelf([*records, record("1111", model="other")]).find(ACCURACY) is None


def test_a_mean_over_tasks_needs_all_of_them():
    one = Source("BERT", "advglue/qqp", "accuracy")
    place = Place("BERT", "Avg.", (ACCURACY, one))
    assert Shelf([record("1101")]).fill(place) is None
    both = Shelf([record("1101"), record("1001", task="advglue/qqp")]).fill(place)
    assert both.value == pytest.approx(62.5)
    (low1, high1), (low2, high2) = wilson(3, 4), wilson(2, 4)
    assert both.low == pytest.approx(62.5 - 50 * math.hypot(0.75 - low1, 0.5 - low2))
    assert both.high == pytest.approx(62.5 + 50 * math.hypot(high1 - 0.75, high2 - 0.5))
    assert both.majority == pytest.approx(60)


def test_a_weighted_mean_counts_rows():
    other = Source("BERT", "advglue/qqp", "accuracy")
    shelf = Shelf([record("10" * 5), record("1" * 30, task="advglue/qqp")])
    sources = (ACCURACY, other)
    assert shelf.fill(Place("w", "c", sources, weighted=True)).value == pytest.approx(87.5)
    assert shelf.fill(Place("w", "c", sources)).value == pytest.approx(75)
    assert mean([(Value(0.5), 1.0), (Value(1.0), 3.0)]) == Value(0.875)


ONE_MODEL = tuple(Source("BERT", f"advglue/{part}", "accuracy") for part in ("mnli", "mnli-mm"))
TWO_MODELS = tuple(Source("BERT", f"advglue/{part}", "accuracy") for part in ("mnli", "qnli"))
LUCK = ("1" * 36 + "0" * 4, "1" * 20 + "0" * 20, "1" * 4 + "0" * 36)


def by_luck(*parts, marks=True):
    """Three seeds, of which one is lucky in every part."""
    changes = {} if marks else {"marks": {}}
    return Shelf(
        record(of, seed, task=f"advglue/{part}", **changes)
        for part in parts
        for seed, of in enumerate(LUCK)
    )


@pytest.mark.parametrize("marks", [True, False], ids=["marks", "no marks"])
def test_numbers_of_one_model_do_not_narrow_each_others_interval(marks):
    """A lucky seed is lucky in MNLI-m and -mm: their mean is as unsure as each of them."""
    shelf = by_luck("mnli", "mnli-mm", "qnli", marks=marks)
    alone = shelf.fill(Place("w", "c", ONE_MODEL[:1]))
    same = shelf.fill(Place("w", "c", ONE_MODEL))
    apart = shelf.fill(Place("w", "c", TWO_MODELS))
    assert same.value == apart.value == pytest.approx(50)
    assert same.high - same.low > 0.9 * (alone.high - alone.low)
    assert apart.high - apart.low == pytest.approx((alone.high - alone.low) / math.sqrt(2))


def test_joined_marks_vary_about_their_own_means():
    """Parts that differ are no chance: one seed, 40 examples each, spread by binomial law."""
    high, low = "1" * 38 + "0" * 2, "1" * 2 + "0" * 38
    shelf = Shelf([record(high, task="advglue/mnli"), record(low, task="advglue/mnli-mm")])
    found = shelf.fill(Place("w", "c", ONE_MODEL))
    assert found.value == pytest.approx(50)
    error = 50 * math.sqrt(2 * 0.95 * 0.05 / 40)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.15)


def test_levels_of_the_same_models_share_their_seeds():
    """The average of Table 4: places of places, flattened before the seeds are drawn."""
    groups = ("word", "sentence")
    records = [
        RunRecord(
            *("evaluation", "BERT", "advglue/sst2", seed, {}),
            metrics=tuple(Metric("accuracy", of.count("1") / 40, group=g) for g in groups),
            marks={f"accuracy/{g}": of for g in groups},
        )
        for seed, of in enumerate(LUCK)
    ]
    levels = [Place("w", g, (Source("BERT", "advglue/sst2", "accuracy", group=g),)) for g in groups]
    shelf = Shelf(records)
    alone, both = shelf.fill(levels[0]), shelf.fill(Place("Avg.", "c", of=tuple(levels)))
    assert both.high - both.low > 0.9 * (alone.high - alone.low)


def test_no_interval_leaves_what_a_share_can_be():
    sure = Metric("accuracy", 1.0, 0.6, 1.0)
    records = [
        RunRecord("evaluation", "BERT", f"advglue/{part}", 0, {}, metrics=(sure,))
        for part in ("mnli", "mnli-mm", "qnli")
    ]
    found = Shelf(records).fill(Place("w", "c", (*ONE_MODEL, TWO_MODELS[1])))
    assert 0 <= found.low < found.value == found.high == pytest.approx(100)


def test_a_mean_of_places_is_taken_in_their_unit():
    levels = tuple(Place("w", "c", (s,)) for s in (ACCURACY, ACCURACY))
    assert Shelf([record("1101")]).fill(Place("Avg.", "c", of=levels)).value == pytest.approx(75)


def test_curves_are_read_along_their_length():
    def training(seed, *y):
        steps = tuple(float(n) for n in range(len(y)))
        curve = Series("distance", steps, y)
        return RunRecord("training", "RIFT", "imdb", seed, {}, series=(curve,))

    shelf = Shelf([training(0, 0.1, 0.2, 0.4), training(1, 0.1, 0.2, 0.6)])
    end = shelf.find(Source("RIFT", "imdb", "distance", along=1.0))
    assert (end.value, end.seeds) == (0.5, 2)
    assert shelf.find(Source("RIFT", "imdb", "distance", along=0.5)).value == 0.2
    assert shelf.find(Source("RIFT", "imdb", "loss", along=0.5)) is None


def test_what_follows_from_a_formula_needs_no_record():
    assert Shelf([]).fill(Place("BERT", "FLOPs", unit="G", computed=22.35)) == Value(22.35)
    weights = Metric("parameters", 22_713_986.0)
    known = RunRecord("evaluation", "BERT", "sst2", 0, {}, metrics=(weights,))
    place = Place("BERT", "Params", (Source("BERT", "sst2", "parameters"),), unit="M")
    assert Shelf([known]).fill(place).value == pytest.approx(22.714, abs=1e-3)
