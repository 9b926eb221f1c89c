"""What a model costs: counted again by other means."""

import math

import pytest
import text_tokenizers as kinds
import torch
from attack_bag import bag
from attack_tiny import victim

from holdfast.errors import InputError
from holdfast.evaluate.cost import cost, model_inputs
from holdfast.implicit import Connection, ImplicitEuler, connect
from holdfast.implicit.flops import count_flops
from holdfast.record import Metric
from holdfast.solve import FixedPoint
from holdfast.victim import ModelVictim

TEXTS = [("film",), ("the film was good",), ("a great movie, a fine film was the good picture",)]
SOLVED = Connection(scheme=ImplicitEuler(0.5), solver=FixedPoint(3, 0.0), on_failure="keep")


def measured(tiny: ModelVictim, texts: list[tuple[str, ...]]) -> dict[str, Metric]:
    return {metric.name: metric for metric in cost(tiny, texts)}


def test_the_text_of_median_length_is_counted() -> None:
    tiny = victim(kinds.wordpiece())
    found = measured(tiny, TEXTS)
    assert list(found) == ["parameters", "gflops", "latency_ms", "memory_mib"]
    assert found["parameters"].value == sum(p.numel() for p in tiny.model.parameters())
    flops = count_flops(tiny.model, model_inputs(tiny, TEXTS[1:2])).forward
    assert found["gflops"].value == pytest.approx(flops / 1e9)
    shorter = count_flops(tiny.model, model_inputs(tiny, TEXTS[:1])).forward
    assert shorter < flops


def test_a_latency_is_a_time_and_no_memory_is_invented() -> None:
    found = measured(victim(kinds.wordpiece()), TEXTS)
    latency = found["latency_ms"].value
    assert latency is not None
    assert 0 < latency < math.inf
    assert found["memory_mib"].value is None  # there is no GPU here


def test_solves_are_paid_for_and_leave_no_readings() -> None:
    plain, solved = victim(kinds.wordpiece()), victim(kinds.wordpiece())
    handle = connect(solved.model, SOLVED)
    plain_flops, flops = (measured(v, TEXTS)["gflops"].value for v in (plain, solved))
    assert plain_flops is not None
    assert flops is not None
    assert 3.5 < flops / plain_flops < 4.0  # 1 + 3 evaluations of each layer; the head has none
    assert all(math.isnan(reading.evaluations) for reading in handle.readings())


def test_the_inputs_are_those_the_victim_runs() -> None:
    tiny = victim(kinds.wordpiece())
    pairs = [("a film", "was good"), ("the great movie", "was a bad film")]
    inputs = model_inputs(tiny, pairs)
    with torch.no_grad():
        answers = tiny.model(**inputs).logits.log_softmax(1)
    assert torch.allclose(answers.double(), torch.from_numpy(tiny.score(pairs)), atol=1e-4)
    assert int(inputs["token_type_ids"].max()) == 1


def test_what_costs_nothing_or_shows_nothing() -> None:
    assert cost(bag(), TEXTS) == ()
    with pytest.raises(InputError, match="no text"):
        cost(victim(kinds.wordpiece()), [])
