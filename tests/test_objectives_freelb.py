"""FreeLB: the released loop, one backward pass for each point, one dropout mask for all."""

import pytest
import torch
from families import classifier
from objective_cases import (
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    without_dropout,
)
from objective_cases_balls import (
    SteadyL2,
    check_own_json,
    exact_model,
    gradients_of,
    losses_where_nothing_moves,
    on_vectors,
    table,
    totals_of,
)
from torch import nn

from holdfast.adversary import L2Ball, LinfBall
from holdfast.errors import InputError
from holdfast.objectives.freelb import FreeLB
from holdfast.objectives.replay import SameMasks

NOTHING = nn.Module()
GOLDEN = [0.57790, 0.69159, 0.59270, 0.81003]
BALL = SteadyL2(radius=0.15, step_size=0.1, begin_scale=0.01)


def released_loop(model, batch, steps: int, ball: L2Ball) -> list[torch.Tensor]:
    """The loop of run_glue_freelb.py, every backward pass through autograd.grad."""
    ids, can = batch["input_ids"], batch["movable"].unsqueeze(2)
    delta = ball.start(table(model)(ids), batch).double()
    found = []
    for _ in range(steps):
        delta = delta.detach().requires_grad_()
        logits = on_vectors(model, batch, table(model)(ids) + delta).logits
        loss = nn.functional.cross_entropy(logits, batch["labels"]) / steps
        found.append(loss)
        (slope,) = torch.autograd.grad(loss, delta, retain_graph=True)
        slope = slope * can
        delta = delta + ball.step_size * slope / slope.norm(dim=(1, 2), keepdim=True)
        delta = delta * (ball.radius / delta.norm(dim=(1, 2), keepdim=True)).clamp_max(1)
    return found


@pytest.mark.parametrize("ball", [BALL, L2Ball()], ids=["started", "default"])
def test_it_is_the_released_loop(ball):
    model, batch = exact_model(), adversarial_batch()
    expected = released_loop(model, batch, 3, ball)
    objective = FreeLB(steps=3, ball=ball)
    found = totals_of(objective, model, NOTHING, batch)
    torch.testing.assert_close(
        torch.stack(found), torch.stack(expected), check_dtype=False, rtol=1e-6, atol=1e-6
    )
    assert_same(
        gradients_of(objective, model, NOTHING, batch), gradients(model, [sum(expected)]), 1e-6
    )


def test_each_pass_is_a_worse_point():
    model, batch = exact_model(), adversarial_batch()
    found = totals_of(FreeLB(steps=4, ball=L2Ball(radius=None)), model, NOTHING, batch)
    assert found == sorted(found)
    assert found[0] < found[-1]


@pytest.mark.parametrize("halves", [1, 2])
def test_golden_losses(halves):
    model = without_dropout(classifier("bert")).train()
    found = curve(FreeLB(ball=BALL), model, NOTHING, halves=halves)
    assert found == pytest.approx(GOLDEN, rel=1e-4)


def test_all_passes_share_one_dropout_mask():
    batch = adversarial_batch()
    batch["movable"] = torch.zeros_like(batch["movable"])  # so that masks alone could differ
    first, second, third = totals_of(FreeLB(steps=3), classifier("bert").train(), NOTHING, batch)
    assert first == second == third


def test_the_masks_of_two_batches_differ():
    model, batch = classifier("bert").train(), adversarial_batch()
    assert totals_of(FreeLB(), model, NOTHING, batch) != totals_of(FreeLB(), model, NOTHING, batch)


def test_the_generator_ends_where_one_forward_leaves_it():
    model, batch = classifier("bert").train(), adversarial_batch()
    torch.manual_seed(3)
    totals_of(FreeLB(steps=1), model, NOTHING, batch)
    once = torch.get_rng_state()
    torch.manual_seed(3)
    totals_of(FreeLB(steps=3), model, NOTHING, batch)
    assert torch.equal(torch.get_rng_state(), once)


def test_what_is_drawn_between_the_passes_is_not_drawn_again():
    masks, drawn = SameMasks(torch.device("cpu")), []
    for _ in range(2):
        with masks.drawing():
            drawn.append(torch.rand(1).item())
        drawn.append(torch.rand(1).item())
    first, between, again, after = drawn
    assert first == again
    assert len({first, between, after}) == 3


def test_gradient_checkpointing_draws_the_same_masks():
    found = []
    for checkpointing in (False, True):
        model, batch = classifier("bert").train(), adversarial_batch()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        torch.manual_seed(3)
        found.append(gradients_of(FreeLB(steps=3), model, NOTHING, batch))
    assert_same(found[1], found[0], 1e-6)


def test_a_scaled_loss_takes_the_same_path():
    curves = []
    for scale in (1.0, 4096.0):
        model, totals = exact_model(), []
        for loss in FreeLB(steps=3).losses(model, NOTHING, adversarial_batch()):
            (loss.total * scale).backward()
            totals.append(loss.total.detach())
        curves.append(torch.stack(totals))
    torch.testing.assert_close(*curves)


def test_an_overflow_leaves_the_next_loss_a_number():
    losses = FreeLB(steps=2).losses(classifier("bert").train(), NOTHING, adversarial_batch())
    (next(losses).total * torch.inf).backward()
    assert next(losses).total.isfinite()


def test_a_loss_that_nobody_differentiated_is_told():
    losses = FreeLB(steps=2).losses(classifier("bert"), NOTHING, adversarial_batch())
    next(losses)
    with pytest.raises(InputError, match="call backward on each loss"):
        next(losses)


def test_the_ends_of_the_path_are_logged():
    model, parts = exact_model(), []
    for loss in FreeLB(steps=3).losses(model, NOTHING, adversarial_batch()):
        loss.total.backward()
        parts.append(dict(loss.parts))
    assert [list(part) for part in parts] == [["first"], [], ["last"]]
    assert parts[0]["first"] < parts[2]["last"]


def test_one_pass_is_both_ends():
    (loss,) = FreeLB(steps=1).losses(exact_model(), NOTHING, adversarial_batch())
    assert loss.parts["first"] == loss.parts["last"] == loss.total.detach()


def test_it_announces_its_passes():
    objective = FreeLB(steps=4)
    assert objective.passes == 4
    assert (objective.moves, objective.substitutes, objective.class_conditional) == (1, 0, 0)
    assert not objective.extras(classifier("bert")).state_dict()


def test_nothing_moves_where_nothing_may():
    *found, plain = losses_where_nothing_moves(FreeLB(steps=2))
    assert sum(found) == pytest.approx(plain)


@pytest.mark.parametrize("ball", [L2Ball(radius=None), LinfBall()])
def test_it_is_its_own_json(ball):
    check_own_json(FreeLB(steps=4, ball=ball))


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="steps 0"):
        FreeLB(steps=0)
