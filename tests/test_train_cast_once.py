"""Weights that are cast once in a step: the same derivatives, fewer casts, nothing left behind."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
import train_tiny as tiny
from families import batch, classifier
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import TrainingArguments

from holdfast.anchors import PretrainedDecay
from holdfast.implicit import Connection, ImplicitEuler, connect
from holdfast.objectives import FreeLB, Rift, Standard
from holdfast.solve import Descent, Detached
from holdfast.solve.recording import recording
from holdfast.train import RobustTrainer, recording_trainer
from holdfast.train.cast_once import cast_once
from holdfast.train.recorded import casting_anew
from holdfast.train.recording_trainer import RecordingTrainer

PRINTED = Connection(
    scheme=ImplicitEuler(), solver=Descent(steps=3), gradient=Detached(), dropout="off"
)


class Counted(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen[function._schema.name] += 1
        return function(*args, **(kwargs or {}))


def step(dtype, *, backward=1):
    """Take a step in half precision; return the gradients, and how many casts it took."""
    model = classifier("bert")
    connect(model, PRINTED)
    inputs = {**batch((7, 4, 6)), "labels": torch.tensor([0, 1, 0])}
    with casting_anew(wanted=True), recording(), Counted() as counted, cast_once(model, dtype):
        for _ in range(backward):
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(**inputs).loss
            loss.backward()
    return {n: p.grad for n, p in model.named_parameters()}, counted.seen["aten::_to_copy"]


@pytest.mark.parametrize("backward", [1, 2])
def test_derivatives_reach_the_weights_themselves_with_fewer_casts(backward):
    usual, many = step(None, backward=backward)
    found, few = step(torch.bfloat16, backward=backward)
    assert few < many
    assert usual.keys() == found.keys()
    for name, gradient in usual.items():
        assert found[name].dtype == torch.float32
        torch.testing.assert_close(found[name], gradient, rtol=0.02, atol=1e-5)


def look_and_fail(model):
    assert model.classifier.weight.dtype == torch.bfloat16
    raise ZeroDivisionError


def test_afterwards_the_weights_are_what_they_were_even_if_it_fails():
    model = classifier("bert")
    before = dict(model.named_parameters())
    with pytest.raises(ZeroDivisionError), cast_once(model, torch.bfloat16):
        look_and_fail(model)
    after = dict(model.named_parameters())
    assert before.keys() == after.keys()
    assert all(after[name] is weight for name, weight in before.items())


def test_only_weights_in_single_precision_are_cast():
    """Quantised layers keep packed integers in their weights."""
    layer = torch.nn.Linear(2, 2)
    layer.weight = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.uint8), requires_grad=False)
    double = torch.nn.Linear(2, 2).double()
    with cast_once(torch.nn.ModuleList([layer, double]), torch.bfloat16):
        assert (layer.weight.dtype, layer.bias.dtype) == (torch.uint8, torch.bfloat16)
        assert double.weight.dtype == torch.float64


@dataclass(frozen=True)
class Seeing(Standard):
    """Notes the precision of the weights that a loss is made with."""

    seen: set[torch.dtype] = field(default_factory=set)

    def losses(self, model, extras, batch):
        self.seen.add(model.classifier.weight.dtype)
        yield from super().losses(model, extras, batch)


@pytest.mark.parametrize(("bf16", "wanted"), [(True, torch.bfloat16), (False, torch.float32)])
def test_a_step_that_is_recorded_is_taken_with_cast_weights(bf16, wanted, tmp_path, monkeypatch):
    # a recorder that takes every step as it is: there is no GPU to record it
    monkeypatch.setattr(recording_trainer, "Recorder", lambda take, trained: take)
    monkeypatch.setattr(recording_trainer, "obstacle", lambda *_: None)
    quiet = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    args = TrainingArguments(str(tmp_path), max_steps=2, bf16=bf16, use_cpu=True, **quiet)
    data = {"train_dataset": tiny.encoded(16), "data_collator": tiny.collator()}
    objective = Seeing()
    run = RobustTrainer(tiny.model(), objective, args=args, **data, recorded=True)
    before = run.model.classifier.weight.detach().clone()
    run.train()
    assert objective.seen == {wanted}
    assert run.model.classifier.weight.dtype == torch.float32
    assert not torch.equal(run.model.classifier.weight, before)


@pytest.mark.parametrize(
    ("objective", "anchor", "bf16", "wanted"),
    [
        (Standard(), None, True, torch.bfloat16),
        (Standard(), None, False, None),
        (Standard(), PretrainedDecay(), True, None),
        (FreeLB(), None, True, None),
        (Rift(), None, True, None),
    ],
)
def test_who_else_handles_weights_in_a_step_keeps_them(objective, anchor, bf16, wanted):
    trainer = SimpleNamespace(objective=objective, anchor=anchor, args=SimpleNamespace(bf16=bf16))
    assert RecordingTrainer._half.fget(trainer) is wanted
