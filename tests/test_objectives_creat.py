"""CreAT: one step against cross-entropy and the encoder's state, then half and half."""

import pytest
import torch
from families import classifier
from objective_cases import (
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    only_loss,
    rows,
    without_dropout,
)
from objective_cases_balls import (
    SteadyL2,
    check_own_json,
    exact_model,
    losses_where_nothing_moves,
    on_vectors,
    table,
)
from torch import nn

from holdfast.adversary import LinfBall
from holdfast.errors import InputError
from holdfast.objectives.creat import CreAT

NOTHING = nn.Module()
BALL = SteadyL2(radius=0.5, step_size=0.4, begin_scale=0.02)
GOLDEN = [0.61145, 0.72756, 0.63761, 0.85193]


def by_hand(model, batch, objective: CreAT) -> torch.Tensor:
    """The released step, with the similarity weighed for each example."""
    embeds, can = table(model)(batch["input_ids"]), batch["movable"].unsqueeze(2)
    ball, labels = objective.ball, batch["labels"]
    target = on_vectors(model, batch, embeds, states=True).hidden_states[-1][:, 0].detach()
    delta = ball.start(embeds, batch).double()
    for _ in range(objective.steps):
        delta = delta.detach().requires_grad_()
        output = on_vectors(model, batch, embeds.detach() + delta, states=True)
        state = output.hidden_states[-1][:, 0]
        alike = (state * target).sum(1) / (state.norm(dim=1) * target.norm(dim=1))
        wrong = nn.functional.cross_entropy(output.logits, labels, reduction="none")
        value = (wrong - objective.temperature * alike).sum()
        slope = torch.autograd.grad(value, delta)[0] * can
        delta = delta + ball.step_size * slope / slope.norm(dim=(1, 2), keepdim=True)
        delta = delta * (ball.radius / delta.norm(dim=(1, 2), keepdim=True)).clamp_max(1)
        delta = delta.detach()
    logits = [on_vectors(model, batch, vectors).logits for vectors in (embeds, embeds + delta)]
    clean, moved = (nn.functional.cross_entropy(found, labels) for found in logits)
    return (1 - objective.mix) * clean + objective.mix * moved


@pytest.mark.parametrize(
    "objective",
    [CreAT(ball=BALL), CreAT(ball=BALL, steps=3, temperature=5.0, mix=0.3)],
    ids=["one step", "three"],
)
def test_it_is_the_formula(objective):
    model, batch = exact_model(), adversarial_batch()
    expected = by_hand(model, batch, objective)
    found = only_loss(objective, model, NOTHING, batch)
    assert found.parts["adversarial"] > found.parts["clean"] + 0.01
    assert found.total.item() == pytest.approx(expected.item(), rel=1e-5)
    assert_same(gradients(model, [found.total]), gradients(model, [expected]), 1e-5)


def test_the_state_of_the_encoder_changes_the_attack():
    model, batch = exact_model(), adversarial_batch()
    plain, contextual = (
        only_loss(CreAT(ball=BALL, temperature=weight), model, NOTHING, batch).parts["adversarial"]
        for weight in (0.0, 5.0)
    )
    assert contextual < plain  # it spends a part of the ball on the state


def test_an_example_is_attacked_alone_as_in_a_batch():
    model, batch, objective = exact_model(), adversarial_batch(), CreAT(ball=BALL, temperature=5.0)
    whole = only_loss(objective, model, NOTHING, batch).total
    count = len(batch["labels"])
    alone = [
        only_loss(objective, model, NOTHING, rows(batch, slice(row, row + 1))).total
        for row in range(count)
    ]
    torch.testing.assert_close(sum(alone) / count, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("halves", [1, 2])
def test_golden_losses(halves):
    model = without_dropout(classifier("bert")).train()
    found = curve(CreAT(ball=BALL), model, NOTHING, halves=halves)
    assert found == pytest.approx(GOLDEN, rel=1e-4)


def test_without_a_share_of_moved_vectors_it_is_plain_training():
    model, batch = exact_model(), adversarial_batch()
    found = only_loss(CreAT(mix=0.0), model, NOTHING, batch)
    assert found.total == found.parts["clean"]
    torch.testing.assert_close(found.total, model(**_with_labels(batch)).loss, check_dtype=False)


def _with_labels(batch):
    return {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}


def test_nothing_moves_where_nothing_may():
    found, plain = losses_where_nothing_moves(CreAT(ball=BALL))
    assert found == pytest.approx(plain, rel=1e-6)


def test_it_is_its_own_json():
    check_own_json(CreAT(ball=LinfBall(), mix=0.3))


def test_it_keeps_nothing_beside_the_model():
    objective = CreAT()
    assert not objective.extras(classifier("bert")).state_dict()
    assert (objective.moves, objective.substitutes, objective.class_conditional) == (1, 0, 0)


@pytest.mark.parametrize("changes", [{"steps": 0}, {"temperature": -1.0}, {"mix": 1.5}])
def test_settings_that_make_no_sense_are_refused(changes):
    with pytest.raises(InputError, match="CreAT has steps"):
        CreAT(**changes)
