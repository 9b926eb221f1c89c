"""InfoBERT: FreeLB's path, local robust tokens, and two bounds on information."""

import math

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
    check_trains,
    exact_model,
    gradients_of,
    losses_where_nothing_moves,
    on_vectors,
    table,
    totals_of,
)
from torch import nn

from holdfast.adversary import L2Ball
from holdfast.errors import InputError
from holdfast.implicit import Connection, Theta, connect
from holdfast.objectives.freelb import FreeLB
from holdfast.objectives.infobert import Critic, InfoBERT, local_robust, upper_bound
from holdfast.solve import ImplicitFunction

NOTHING = nn.Module()
BALL = SteadyL2(radius=None, step_size=0.1, begin_scale=0.01)
GOLDEN = [1.18568, 1.26211, 1.21183, 1.40092]


def critic(hidden: int = 32, width: int = 300, *, seed: int = 0) -> Critic:
    torch.manual_seed(seed)
    return Critic(hidden, width)


# -- the loss -------------------------------------------------------------------------------------


def robust_by_hand(slope, batch, low: float, high: float) -> list[tuple[int, int]]:
    found = []
    for row, can in enumerate(batch["movable"]):
        places = [place for place in range(len(can)) if can[place]]
        places.sort(key=lambda place: slope[row, place].norm().item())
        count = len(places)
        found += [(row, p) for p in places[math.ceil(count * low) : math.ceil(count * high)]]
    return found


def variance_by_hand(embedded, batch) -> torch.Tensor:
    """Half the squared distance, averaged over every pair of real tokens."""
    tokens = embedded[batch["attention_mask"].bool()]
    return (tokens.unsqueeze(0) - tokens.unsqueeze(1)).square().sum(2).mean() / 2


def information_by_hand(scores, pairs, embedded, states) -> torch.Tensor:
    """All pairs in one group, score by score."""
    bounds = []
    for row, place in pairs:
        sentence = states[row]
        every = [scores(torch.cat([embedded[r, p], sentence])) for r, p in pairs]
        own = scores(torch.cat([embedded[row, place], sentence]))
        bounds.append(own - torch.cat(every).exp().mean().log())
    return torch.cat(bounds).mean()


def by_hand(model, judge, batch, objective: InfoBERT) -> list[torch.Tensor]:
    ids, can, ball = batch["input_ids"], batch["movable"].unsqueeze(2), objective.ball
    delta = ball.start(table(model)(ids), batch).double()
    found = []
    for _ in range(objective.steps):
        delta = delta.detach().requires_grad_()
        output = on_vectors(model, batch, table(model)(ids) + delta * can, states=True)
        embedded, states = output.hidden_states[0], output.hidden_states[-1][:, 0]
        loss = nn.functional.cross_entropy(output.logits, batch["labels"])
        loss = loss + objective.beta * variance_by_hand(embedded, batch)
        (slope,) = torch.autograd.grad(loss, delta, retain_graph=True)
        pairs = robust_by_hand(slope, batch, objective.low, objective.high)
        information = information_by_hand(judge.score, pairs, embedded, states)
        found.append((loss - objective.alpha * information) / objective.steps)
        delta = delta + ball.step_size * slope / slope.norm(dim=(1, 2), keepdim=True)
    return found


def test_it_is_the_formula():
    model, batch = exact_model(), adversarial_batch((9, 6, 8, 7))
    objective = InfoBERT(alpha=0.5, beta=0.02, ball=BALL)
    judge = critic().double()
    expected = by_hand(model, judge, batch, objective)
    found = totals_of(objective, model, judge, batch)
    torch.testing.assert_close(
        torch.stack(found), torch.stack(expected), check_dtype=False, rtol=1e-5, atol=1e-6
    )
    judge.zero_grad()
    wanted = gradients(nn.ModuleList([model, judge]), [sum(expected)])
    model.zero_grad()
    for loss in objective.losses(model, judge, batch):
        loss.total.backward()
    both = nn.ModuleList([model, judge])
    assert_same(
        {name: weight.grad for name, weight in both.named_parameters() if weight.grad is not None},
        wanted,
        1e-5,
    )
    assert any(name.startswith("1.score") for name in wanted)


def test_without_information_it_is_freelb():
    model, batch = classifier("bert").train(), adversarial_batch()
    found = []
    for objective in (FreeLB(steps=3, ball=BALL), InfoBERT(alpha=0.0, beta=0.0, ball=BALL)):
        torch.manual_seed(5)
        found.append(gradients_of(objective, model, critic(seed=5), batch))
    assert_same(found[1], found[0], 1e-6)


def test_golden_losses():
    model, judge = without_dropout(classifier("bert")).train(), critic()
    found = curve(InfoBERT(alpha=0.5, beta=0.02, ball=BALL), model, judge)
    assert found == pytest.approx(GOLDEN, rel=1e-4)


@pytest.mark.parametrize("halves", [1, 2])
def test_accumulation_leaves_the_part_of_each_example_alone(halves):
    """The bounds compare the examples of a batch; without them halves are as good as a whole."""
    model, judge = without_dropout(classifier("bert")).train(), critic()
    plain = without_dropout(classifier("bert")).train()
    found = curve(InfoBERT(alpha=0.0, beta=0.0, ball=BALL), model, judge, halves=halves)
    assert found == pytest.approx(curve(FreeLB(steps=3, ball=BALL), plain, NOTHING), rel=1e-4)


def test_all_passes_share_one_dropout_mask():
    batch = adversarial_batch()
    batch["movable"] = torch.zeros_like(batch["movable"])
    first, second, third = totals_of(InfoBERT(), classifier("bert").train(), critic(), batch)
    assert first == second == third


# -- local robust tokens --------------------------------------------------------------------------


def test_the_middle_of_the_ranking_is_robust():
    batch = {"movable": torch.tensor([[0] + [1] * 10 + [0], [0] + [1] * 4 + [0] * 7])}
    norms = torch.tensor([99.0, 5, 3, 9, 1, 7, 2, 8, 10, 6, 4, 99])
    found = local_robust(norms.repeat(2, 1).unsqueeze(2), batch, 0.5, 0.9)
    # of ten tokens ranks 5 to 8, of four (5, 3, 9, 1) ranks 2 and 3
    assert norms[found[0]].sort().values.tolist() == [6, 7, 8, 9]
    assert norms[found[1]].sort().values.tolist() == [5, 9]


def test_a_token_that_may_not_move_is_never_robust():
    batch = adversarial_batch()
    torch.manual_seed(0)
    found = local_robust(torch.randn(*batch["movable"].shape, 3), batch, 0.0, 1.0)
    assert torch.equal(found, batch["movable"].bool())


def test_texts_too_short_for_a_robust_token_add_nothing():
    model, batch = classifier("bert").train(), adversarial_batch((2, 2))
    objective, judge = InfoBERT(), critic()
    for loss in objective.losses(model, judge, batch):
        loss.total.backward()
        assert loss.parts["information"] == 0
    assert all(weight.grad is None for weight in judge.parameters())


# -- the bounds -----------------------------------------------------------------------------------


def test_information_is_at_most_the_logarithm_of_the_group():
    pairs = 8
    judge = critic(hidden=pairs, width=64)
    tokens = sentences = 3 * torch.eye(pairs)
    optimiser = torch.optim.Adam(judge.parameters(), lr=0.02)
    before = judge.bound(tokens, sentences).mean().item()
    for _ in range(150):
        optimiser.zero_grad()
        (-judge.bound(tokens, sentences).mean()).backward()
        optimiser.step()
    learnt = judge.bound(tokens, sentences).mean().item()
    assert abs(before) < 0.2
    assert 0.95 * math.log(pairs) < learnt <= math.log(pairs) + 1e-6


def test_tokens_of_another_sentence_say_nothing():
    """Averaged over sentences given at random the bound stays at zero or below."""
    torch.manual_seed(0)
    judge, tokens = critic(hidden=4), torch.randn(64, 4)
    assert judge.bound(tokens, torch.randn(64, 4)).mean() < 0.05


def test_groups_are_no_larger_than_asked():
    sizes = []
    judge = critic()
    bound = judge.bound

    def noting(tokens, sentences):
        sizes.append(len(tokens))
        return bound(tokens, sentences)

    judge.bound = noting
    batch = adversarial_batch((12, 12, 12))
    objective = InfoBERT(steps=1, group=4, low=0.0, high=1.0)
    totals_of(objective, classifier("bert").train(), judge, batch)
    assert sum(sizes) == int(batch["movable"].sum())
    assert max(sizes) == 4
    assert max(sizes) - min(sizes) <= 1


def test_padding_does_not_count_as_spread():
    batch = adversarial_batch((3, 7))
    vectors = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0))
    expected = upper_bound(vectors, batch)
    vectors[0, 3:] = 1e3
    assert upper_bound(vectors, batch) == expected
    torch.testing.assert_close(expected, variance_by_hand(vectors, batch))


def test_nothing_moves_where_nothing_may():
    *found, plain = losses_where_nothing_moves(InfoBERT(alpha=0.0, beta=0.0))
    assert sum(found) == pytest.approx(plain, rel=1e-6)


def test_a_gradient_solved_in_the_backward_pass_is_solved_twice():
    model = classifier("bert")
    connection = Connection(scheme=Theta(), gradient=ImplicitFunction(), on_failure="keep")
    connect(model, connection)
    check_trains(InfoBERT(), model)


def test_gradient_checkpointing_changes_nothing():
    found = []
    for checkpointing in (False, True):
        model, batch = classifier("bert").train(), adversarial_batch()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        judge = critic()
        torch.manual_seed(3)
        found.append(gradients_of(InfoBERT(), model, judge, batch))
    assert_same(found[1], found[0], 1e-6)


def test_it_is_its_own_json():
    check_own_json(InfoBERT(ball=L2Ball(), low=0.1))


def test_the_critic_is_trained_and_the_passes_are_announced():
    objective = InfoBERT(steps=4)
    extras = objective.extras(classifier("gpt2"))
    assert objective.passes == 4
    assert extras.score[0].weight.shape == (300, 64)
    assert all(parameter.requires_grad for parameter in extras.parameters())


def test_without_its_critic_it_is_refused():
    with pytest.raises(InputError, match="no critic"):
        next(InfoBERT().losses(classifier("bert"), NOTHING, adversarial_batch()))


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha": -1.0},
        {"beta": -1.0},
        {"steps": 0},
        {"width": 0},
        {"group": 1},
        {"low": 0.9, "high": 0.5},
        {"low": -0.1},
        {"high": 1.1},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes):
    with pytest.raises(InputError, match="InfoBERT has"):
        InfoBERT(**changes)
