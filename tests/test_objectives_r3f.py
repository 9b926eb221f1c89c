"""R3F: noise and a symmetric divergence. R4F: the same with a bound on the head."""

import pytest
import torch
from families import classifier
from objective_cases import (
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    only_loss,
    without_dropout,
)
from objective_cases_balls import (
    TABLE,
    check_own_json,
    exact_model,
    gradients_of,
    losses_where_nothing_moves,
    on_vectors,
    table,
)
from safetensors.torch import load_model, save_model
from torch import nn

from holdfast.adversary import LinfBall
from holdfast.errors import InputError
from holdfast.objectives.r3f import R3F, R4F, SpectralBounds, head_weights

NOTHING = nn.Module()
GOLDEN = [0.57206, 0.68769, 0.58051, 0.80237]


def by_hand(model, batch, objective: R3F) -> torch.Tensor:
    """Two forwards, and KL from torch's own function."""
    embeds = table(model)(batch["input_ids"])
    noise = torch.zeros_like(embeds, dtype=torch.float32)
    draw = {"uniform": lambda: noise.uniform_(-1, 1), "normal": noise.normal_}[objective.noise]
    noise = draw() * objective.epsilon * batch["movable"].unsqueeze(2)
    base = embeds.detach() if objective.detached else embeds
    logits = [on_vectors(model, batch, vectors).logits for vectors in (embeds, base + noise)]
    p, q = (found.log_softmax(dim=1) for found in logits)
    kl = nn.functional.kl_div
    both = [kl(a, b, reduction="batchmean", log_target=True) for a, b in ((p, q), (q, p))]
    return nn.functional.nll_loss(p, batch["labels"]) + objective.weight * sum(both)


@pytest.mark.parametrize(
    "objective",
    [
        R3F(weight=0.7, epsilon=0.3),
        R3F(noise="normal", epsilon=0.3),
        R3F(epsilon=0.3, detached=False),
    ],
    ids=["uniform", "normal", "attached"],
)
def test_it_is_the_formula(objective):
    model, batch = exact_model(), adversarial_batch()
    torch.manual_seed(1)
    expected = by_hand(model, batch, objective)
    torch.manual_seed(1)
    found = only_loss(objective, model, NOTHING, batch)
    # divergences are computed in fp32
    assert found.total.item() == pytest.approx(expected.item(), rel=1e-6)
    assert found.parts["divergence"] > 1e-3
    wanted = gradients(model, [expected])
    assert_same(gradients(model, [found.total]), wanted, 1e-6)


def test_detaching_changes_the_token_vectors_only():
    model, batch = exact_model(), adversarial_batch()
    found = []
    for detached in (True, False):
        torch.manual_seed(1)
        objective = R3F(epsilon=0.3, detached=detached)
        found.append(gradients_of(objective, model, NOTHING, batch))
    assert not torch.allclose(found[0].pop(TABLE), found[1].pop(TABLE))
    assert_same(found[0], found[1], 1e-7)


def test_noise_draws_anew_for_each_batch():
    model, batch = exact_model(), adversarial_batch()
    first, second = (only_loss(R3F(epsilon=0.3), model, NOTHING, batch).total for _ in range(2))
    assert first != second


@pytest.mark.parametrize("halves", [1, 2])
def test_golden_losses(halves, monkeypatch):
    # noise of an example's own, so that a batch and its halves get the same
    monkeypatch.setattr(
        LinfBall, "start", lambda ball, embeds, batch: ball.begin_scale * torch.sin(37 * embeds)
    )
    model = without_dropout(classifier("bert")).train()
    found = curve(R3F(epsilon=0.3), model, NOTHING, halves=halves)
    assert found == pytest.approx(GOLDEN, rel=1e-4)


@pytest.mark.parametrize("objective", [R3F(), R4F()], ids=["r3f", "r4f"])
def test_nothing_moves_where_nothing_may(objective):
    found, plain = losses_where_nothing_moves(objective)
    assert found == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("objective", [R3F(noise="normal"), R4F(r3f=R3F(weight=0.7))])
def test_it_is_its_own_json(objective):
    check_own_json(objective)


@pytest.mark.parametrize("changes", [{"weight": -1.0}, {"epsilon": 0.0}])
def test_settings_that_make_no_sense_are_refused(changes):
    with pytest.raises(InputError, match="R3F has weight"):
        R3F(**changes)


def test_noise_of_another_kind_is_refused():
    with pytest.raises(InputError, match=r"R3F\.noise is 'zero'; expected one of uniform, normal"):
        R3F(noise="zero")


# -- the bound on the head ------------------------------------------------------------------------


def norms(model) -> list[float]:
    return [torch.linalg.matrix_norm(weight, ord=2).item() for weight in head_weights(model)]


def test_a_long_weight_is_shortened_and_a_short_one_kept():
    model = classifier("roberta").train()
    dense, last = (weight.data for weight in head_weights(model))
    dense.mul_(3 / torch.linalg.matrix_norm(dense, ord=2))
    last.mul_(0.5 / torch.linalg.matrix_norm(last, ord=2))
    long, short = dense.clone(), last.clone()
    only_loss(R4F(), model, R4F().extras(model), adversarial_batch())
    torch.testing.assert_close(dense, long / 3)
    assert torch.equal(last, short)


@pytest.mark.parametrize(
    ("family", "maps"), [("bert", 1), ("roberta", 2), ("distilbert", 2), ("gpt2", 1), ("t5", 2)]
)
def test_the_head_is_what_pretraining_did_not_bring(family, maps):
    assert len(head_weights(classifier(family))) == maps


def test_the_norms_are_followed_through_training():
    model, objective = classifier("roberta").train(), R4F()
    extras = objective.extras(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.3)
    for step in range(30):
        only_loss(objective, model, extras, adversarial_batch(seed=step)).total.backward()
        assert max(norms(model)) < 1.01
        optimiser.step()
        optimiser.zero_grad()
    assert max(norms(model)) > 0.9  # the bound had something to hold


def test_weights_are_brought_back_once_a_step():
    model, batch = classifier("roberta").train(), adversarial_batch()
    bounds = SpectralBounds(model)
    bounds.enforce(model)
    kept = [weight.clone() for weight in head_weights(model)]
    direction = bounds.direction_0.clone()
    only_loss(R4F(), model, bounds, batch)  # a second batch of the same step
    assert all(torch.equal(a, b) for a, b in zip(kept, head_weights(model), strict=True))
    assert torch.equal(bounds.direction_0, direction)


def test_the_checkpoint_stays_plain_and_resumes(tmp_path):
    model = classifier("roberta").train()
    keys, bounds = list(model.state_dict()), SpectralBounds(model)
    bounds.enforce(model)
    assert list(model.state_dict()) == keys
    save_model(bounds, str(tmp_path / "extras.safetensors"))
    again = SpectralBounds(model)
    load_model(again, tmp_path / "extras.safetensors")
    kept = [weight.clone() for weight in head_weights(model)]
    again.enforce(model)
    assert all(torch.equal(a, b) for a, b in zip(kept, head_weights(model), strict=True))


def test_what_cannot_be_bounded_is_told():
    with pytest.raises(InputError, match="what its extras"):
        only_loss(R4F(), classifier("bert"), NOTHING, adversarial_batch())
    with pytest.raises(InputError, match="no linear map outside its base model"):
        R4F().extras(classifier("bert").bert)
