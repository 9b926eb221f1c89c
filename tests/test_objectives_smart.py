"""SMART: smoothness in a ball, and an average of the weights to stay near."""

import copy

import pytest
import torch
from families import classifier
from objective_cases import (
    CONNECTIONS,
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    only_loss,
    without_dropout,
)
from objective_cases_balls import (
    SteadyLinf,
    check_own_json,
    exact_model,
    losses_where_nothing_moves,
    on_vectors,
    table,
)
from safetensors.torch import load_model, save_model
from torch import nn

from holdfast.adversary import L2Ball, attacking, inputs_of
from holdfast.errors import InputError
from holdfast.implicit import connect
from holdfast.objectives.smart import MovingAverage, Smart

NOTHING = nn.Module()
BALL = SteadyLinf(radius=0.2, step_size=0.1, begin_scale=0.05)
GOLDEN = [0.61809, 0.73834, 0.65528, 0.84556]


def distance(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Symmetric KL, summed over the batch, from torch's own function."""
    p, q = first.log_softmax(dim=1), second.log_softmax(dim=1)
    both = ((p, q), (q, p))
    return sum(nn.functional.kl_div(a, b, reduction="sum", log_target=True) for a, b in both)


def by_hand(model, average, batch, objective: Smart) -> torch.Tensor:
    """The paper's formula, everything in full and one after the other."""
    embeds, can = table(model)(batch["input_ids"]), batch["movable"].unsqueeze(2)
    ball, size = objective.ball, len(embeds)
    target = on_vectors(model, batch, embeds.detach()).logits.detach()
    delta = ball.start(embeds, batch).double()
    for _ in range(objective.steps):
        delta = delta.detach().requires_grad_()
        value = distance(on_vectors(model, batch, embeds.detach() + delta).logits, target)
        slope = torch.autograd.grad(value, delta)[0] * can
        delta = delta + ball.step_size * slope / slope.abs().amax(2, keepdim=True).clamp_min(1e-8)
        delta = delta.detach().clamp(-ball.radius, ball.radius)
    clean = on_vectors(model, batch, embeds).logits
    moved = on_vectors(model, batch, embeds + delta).logits
    anchor = average(**inputs_of(batch)).logits.detach()
    loss = nn.functional.cross_entropy(clean, batch["labels"])
    near = objective.proximal * distance(clean, anchor)
    return loss + (objective.alpha * distance(clean, moved) + near) / size


@pytest.mark.parametrize("steps", [1, 3])
def test_it_is_the_papers_formula(steps):
    model, batch = exact_model(), adversarial_batch()
    objective = Smart(alpha=3.0, steps=steps, ball=BALL, proximal=2.0)
    extras = objective.extras(model)
    extras.average = exact_model(seed=1).eval()  # as if it had come from elsewhere
    expected = by_hand(model, extras.average, batch, objective)
    found = only_loss(objective, model, extras, batch)
    assert found.parts["smoothness"] > 1e-3
    assert found.parts["proximal"] > 1e-3
    assert found.total.item() == pytest.approx(expected.item(), rel=1e-5)
    wanted = gradients(model, [expected])
    assert_same(gradients(model, [found.total]), wanted, 1e-5)


def test_the_adversary_finds_more_than_its_start():
    model, batch = exact_model(), adversarial_batch()
    smooth = [
        only_loss(Smart(steps=steps, ball=BALL, proximal=0.0), model, NOTHING, batch)
        for steps in (1, 4)
    ]
    assert smooth[0].parts["smoothness"] < smooth[1].parts["smoothness"]


@pytest.mark.parametrize("halves", [1, 2])
def test_golden_losses(halves):
    model = without_dropout(classifier("bert")).train()
    objective = Smart(alpha=5.0, ball=BALL, proximal=5.0, momentum=0.5)
    found = curve(objective, model, objective.extras(model), halves=halves)
    assert found == pytest.approx(GOLDEN, rel=1e-4)


def test_nothing_moves_where_nothing_may():
    found, plain = losses_where_nothing_moves(Smart(ball=BALL))
    assert found == pytest.approx(plain, rel=1e-6)


# -- the moving average ---------------------------------------------------------------------------


def test_the_average_moves_once_a_step_and_as_written():
    model, batch = classifier("bert").train(), adversarial_batch()
    objective = Smart(momentum=0.9)
    extras = objective.extras(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    expected = {name: value.detach().clone() for name, value in model.named_parameters()}
    for _ in range(3):
        for _ in range(2):  # two batches a step
            only_loss(objective, model, extras, batch).total.backward()
        found = dict(extras.average.named_parameters())
        assert_same(found, expected, 1e-6)
        optimiser.step()
        optimiser.zero_grad()
        for name, value in model.named_parameters():
            expected[name] = 0.9 * expected[name] + 0.1 * value.detach()
    assert not any(parameter.requires_grad for parameter in extras.parameters())


def test_the_first_step_is_pulled_nowhere():
    model, batch = exact_model(), adversarial_batch()
    objective = Smart(ball=BALL)
    assert only_loss(objective, model, objective.extras(model), batch).parts["proximal"] < 1e-9


def test_a_part_that_is_not_trained_does_not_hide_the_step():
    model, batch = classifier("bert").train(), adversarial_batch()
    model.classifier.requires_grad_(False)
    objective = Smart(momentum=0.0)
    extras = objective.extras(model)
    with torch.no_grad():
        model.bert.pooler.dense.weight.add_(0.1)
    only_loss(objective, model, extras, batch)
    assert torch.equal(extras.average.bert.pooler.dense.weight, model.bert.pooler.dense.weight)


@pytest.mark.parametrize("connection", [None, *CONNECTIONS])
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_the_average_is_run_as_the_model_is(family, connection):
    model, other, batch = classifier(family), classifier(family, seed=1), adversarial_batch()
    if connection is not None:
        connect(model, CONNECTIONS[connection])
    average = MovingAverage(model)
    average.average.load_state_dict(other.state_dict())
    found = average.logits(model.train(), batch)
    if connection is not None:
        connect(other, CONNECTIONS[connection])
    with torch.no_grad():
        expected = other(**inputs_of(batch)).logits
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, model.eval()(**inputs_of(batch)).logits)


@pytest.mark.parametrize("connection", [None, *CONNECTIONS])
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_under_autocast_the_average_has_the_models_precision(family, connection):
    model, batch, seen = classifier(family), adversarial_batch(), []
    if connection is not None:
        connect(model, CONNECTIONS[connection])
    average = MovingAverage(model)  # equal to the weights, so that its logits are the model's
    linear = next(part for part in model.modules() if isinstance(part, nn.Linear))
    linear.register_forward_hook(lambda part, args, output: seen.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        found = average.logits(model.train(), batch)
        with attacking(model) as still, torch.no_grad():
            expected = still(**inputs_of(batch)).logits
    assert set(seen) == {torch.bfloat16}
    assert found.dtype == torch.float32
    assert torch.equal(found, expected.float())
    assert {weight.dtype for weight in average.average.parameters()} == {torch.float32}


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_the_average_is_saved_and_resumed(tmp_path, family):
    model, batch = classifier(family).train(), adversarial_batch()
    objective = Smart(momentum=0.5)
    extras = objective.extras(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
    only_loss(objective, model, extras, batch)
    save_model(extras, str(tmp_path / "extras.safetensors"))
    again = objective.extras(copy.deepcopy(model))
    load_model(again, tmp_path / "extras.safetensors")
    torch.manual_seed(0)
    expected = only_loss(objective, model, extras, batch).total
    torch.manual_seed(0)
    assert only_loss(objective, model, again, batch).total == expected
    assert_same(again.state_dict(), extras.state_dict(), 0.0)


def test_without_the_proximal_point_nothing_is_kept():
    assert not Smart(proximal=0.0).extras(classifier("bert")).state_dict()


def test_without_its_average_the_proximal_point_is_refused():
    with pytest.raises(InputError, match="set proximal to 0"):
        only_loss(Smart(), classifier("bert"), NOTHING, adversarial_batch())


def test_a_model_that_nothing_trains_is_refused():
    with pytest.raises(InputError, match="No weight of the model is trained"):
        Smart().extras(classifier("bert").requires_grad_(False))


def test_it_is_its_own_json():
    check_own_json(Smart(ball=L2Ball(), momentum=0.5))


@pytest.mark.parametrize(
    "changes", [{"alpha": -1.0}, {"proximal": -1.0}, {"steps": 0}, {"momentum": 1.0}]
)
def test_settings_that_make_no_sense_are_refused(changes):
    with pytest.raises(InputError, match="Smart has alpha"):
        Smart(**changes)
