"""Pre-trained weight decay, beside a plain transcription of its formula."""

import math

import pytest
import torch
import train_tiny as tiny
from torch import nn

from holdfast.anchors import PretrainedDecay, Reference


def moved(seed: int = 1) -> tuple[nn.Module, Reference]:
    """A model that has gone some way, in double precision, and where it came from."""
    model = tiny.model().double()
    reference = Reference.of(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator).double()
    return model, reference


def test_the_norm_and_its_gradient():
    model, reference = moved()
    penalty = PretrainedDecay(strength=0.3).penalty(model, reference)
    penalty.backward()
    total = 0.0
    for name, parameter in model.bert.named_parameters():
        for now, before in zip(parameter.flatten(), reference.values[name].flatten(), strict=True):
            total += (now.item() - before.item()) ** 2
    root = math.sqrt(1e-10 + total)
    assert penalty.item() == pytest.approx(0.3 * root, rel=1e-12)
    for name, parameter in model.bert.named_parameters():
        expected = 0.3 * (parameter.detach() - reference.values[name]) / root
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-10, atol=1e-14)
    assert all(parameter.grad is None for parameter in model.classifier.parameters())


def test_the_norm_starts_flat():
    model = tiny.model()
    penalty = PretrainedDecay(strength=1.0).penalty(model, Reference.of(model))
    penalty.backward()
    assert penalty.item() == pytest.approx(1e-5)
    assert all((parameter.grad == 0).all() for parameter in model.bert.parameters())


def test_the_norm_is_full_precision_for_half_weights():
    model, start = moved()[0].bfloat16(), tiny.model().bfloat16()
    reference = Reference.of(start)
    penalty = PretrainedDecay().penalty(model, reference)
    assert penalty.dtype == torch.float32
    squares = [(p.double() - v.double()).square().sum() for _, p, v in reference.pairs(model)]
    exact = torch.stack(squares).sum().sqrt()
    assert penalty.item() == pytest.approx(0.01 * exact.item(), rel=1e-5)


def one_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    generator = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
    optimizer.step()


def test_the_decoupled_form_moves_the_base_model_only():
    (model, reference), (plain, _) = moved(), moved()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    anchor, rate = PretrainedDecay(strength=3.0, kind="decoupled"), 1e-2
    settings = {"lr": rate, "weight_decay": 0.0}
    kind, own = anchor.optimizer((torch.optim.AdamW, settings), model, reference)
    one_step(model, kind(model.parameters(), **own))
    one_step(plain, torch.optim.AdamW(plain.parameters(), **settings))
    for (name, ours), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
        expected = theirs.detach().clone()
        if name.startswith("bert."):
            expected -= rate * 3.0 * (before[name] - reference.values[name.removeprefix("bert.")])
        torch.testing.assert_close(ours.detach(), expected, rtol=1e-12, atol=1e-14)


def test_each_form_acts_in_one_place():
    model, reference = moved()
    usual = (torch.optim.AdamW, {"lr": 1e-3})
    assert PretrainedDecay().optimizer(usual, model, reference) == usual
    assert PretrainedDecay(kind="decoupled").penalty(model, reference) is None
