"""Regions: perturbations stay inside, what must not move does not, steps are the papers'."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from objective_cases import SLOTS, StillHull, adversarial_batch
from torch import Tensor

from holdfast.adversary import ConvexHull, L2Ball, LinfBall
from holdfast.adversary.batch import CANDIDATE_VECTORS
from holdfast.errors import InputError
from holdfast.record import decode, encode

WIDTH = 8
EXACT = 1 + 1e-5  # what rounding may add to a norm

lengths = st.lists(st.integers(2, 6), min_size=1, max_size=3).map(tuple)
scopes = st.sampled_from(["example", "token"])
starts = st.sampled_from(["zero", "uniform", "normal"])
sizes = st.floats(1e-3, 2.0)
l2_balls = st.builds(L2Ball, sizes | st.none(), sizes, scopes, starts, sizes, st.booleans())
linf_balls = st.builds(LinfBall, sizes | st.none(), sizes, scopes, starts, sizes)
hulls = st.builds(ConvexHull, begin=st.sampled_from(["uniform", "original"]))


def case(shape: tuple[int, ...], seed: int, *, left: bool = False) -> tuple[dict, Tensor]:
    """Return a batch with candidate vectors, and the vectors of its tokens."""
    batch = adversarial_batch(shape, seed=seed, left=left)
    table = torch.randn(60, WIDTH, generator=torch.Generator().manual_seed(seed))
    return {**batch, CANDIDATE_VECTORS: table[batch["candidates"]]}, table[batch["input_ids"]]


def climbed(region, batch: dict, embeds: Tensor, seed: int, steps: int = 3) -> Tensor:
    """Return a state after a few steps up random gradients, some of them zero."""
    torch.manual_seed(seed)
    state = region.start(embeds, batch)
    for step in range(steps):
        state = region.step(state, torch.randn_like(state) * (step != 1), batch)
    return state


def sizes_of(ball: L2Ball | LinfBall, moved: Tensor) -> Tensor:
    if isinstance(ball, LinfBall):
        return moved.abs().amax()
    return torch.linalg.vector_norm(moved, dim=(1, 2) if ball.scope == "example" else 2).amax()


@given(l2_balls | linf_balls, lengths, st.integers(0, 99), st.booleans())
def test_perturbations_stay_in_the_ball(ball, shape, seed, left):
    batch, embeds = case(shape, seed, left=left)
    for steps in (0, 3):
        moved = climbed(ball, batch, embeds, seed, steps)
        assert moved.isfinite().all()
        if ball.radius is not None:
            assert sizes_of(ball, moved) <= ball.radius * EXACT
            torch.testing.assert_close(ball.project(moved), moved)


@given(l2_balls | linf_balls, lengths, st.integers(0, 99), st.booleans())
def test_padding_and_special_tokens_never_move_in_a_ball(ball, shape, seed, left):
    batch, embeds = case(shape, seed, left=left)
    vectors = ball.embed(climbed(ball, batch, embeds, seed), embeds, batch)
    still = batch["movable"] == 0
    assert torch.equal(vectors[still], embeds[still])
    # not even by a state that some other code has made
    vectors = ball.embed(torch.ones_like(embeds), embeds, batch)
    assert torch.equal(vectors[still], embeds[still])
    assert not torch.eq(vectors[~still], embeds[~still]).any()


def test_projection_is_the_nearest_point():
    point = torch.tensor([[[3.0, 4.0], [0.0, 0.3]]])
    whole = L2Ball(radius=1.0).project(point)
    torch.testing.assert_close(whole, point / point.norm())
    each = L2Ball(radius=1.0, scope="token").project(point)
    torch.testing.assert_close(each, torch.tensor([[[0.6, 0.8], [0.0, 0.3]]]))
    torch.testing.assert_close(
        LinfBall(radius=0.5).project(point), torch.tensor([[[0.5, 0.5], [0.0, 0.3]]])
    )
    for free in (L2Ball(radius=None), LinfBall(radius=None)):
        assert torch.equal(free.project(point), point)


def test_a_step_is_the_normalised_gradient():
    batch = {"movable": torch.tensor([[1, 1, 0]])}
    gradient = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    zero = torch.zeros_like(gradient)
    moved = L2Ball(radius=None, step_size=0.5).step(zero, gradient, batch)
    torch.testing.assert_close(moved, torch.tensor([[[0.3, 0.0], [0.0, 0.4], [0.0, 0.0]]]))
    moved = LinfBall(radius=None, step_size=0.5, scope="example").step(zero, gradient, batch)
    torch.testing.assert_close(moved, torch.tensor([[[0.375, 0.0], [0.0, 0.5], [0.0, 0.0]]]))


def test_a_random_start_has_the_size_it_is_given():
    batch, embeds = case((6, 6, 6), 0)
    torch.manual_seed(0)
    noise = L2Ball(radius=None, begin="uniform", begin_scale=2.0).start(embeds, batch)
    assert 1.5 < noise.abs().max() <= 2.0
    shared = L2Ball(radius=None, begin="uniform", begin_scale=2.0, begin_shared=True)
    entries = batch["movable"][0].sum() * WIDTH
    assert shared.start(embeds, batch)[0].abs().max() <= 2.0 / entries**0.5
    assert not L2Ball().start(embeds, batch).any()


@pytest.mark.parametrize(
    "settings", [{"radius": 0.0}, {"radius": -1.0}, {"step_size": 0.0}, {"begin_scale": -1.0}]
)
@pytest.mark.parametrize("ball", [L2Ball, LinfBall])
def test_a_ball_without_meaning_is_refused(ball, settings):
    with pytest.raises(InputError, match="expected the first two above 0"):
        ball(**settings)


@pytest.mark.parametrize("ball", [L2Ball, LinfBall])
def test_a_ball_names_what_its_settings_may_be(ball):
    with pytest.raises(InputError, match=r"scope is 'word'; expected one of example, token\."):
        ball(scope="word")
    with pytest.raises(InputError, match="begin is 'gauss'; expected one of zero, uniform, normal"):
        ball(begin="gauss")


@pytest.mark.parametrize("begin", ["uniform", "normal"])
@pytest.mark.parametrize("ball", [L2Ball, LinfBall])
def test_a_random_start_of_no_size_is_refused(ball, begin):
    with pytest.raises(InputError, match="begin_scale 0, which is no random start"):
        ball(begin=begin, begin_scale=0.0)
    assert ball(begin="zero", begin_scale=0.0).begin_scale == 0.0


# -- the convex hull --------------------------------------------------------------------------


@given(hulls, lengths, st.integers(0, 99), st.booleans())
def test_weights_are_a_mixture_of_the_candidates(hull, shape, seed, left):
    batch, embeds = case(shape, seed, left=left)
    weights = hull.weights(climbed(hull, batch, embeds, seed), batch)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(weights.shape[:2]))
    assert (weights >= 0).all()
    assert not weights[~batch["candidate_mask"]].any()


@given(hulls, lengths, st.integers(0, 99), st.booleans())
def test_frozen_tokens_keep_their_vectors_bit_for_bit(hull, shape, seed, left):
    batch, embeds = case(shape, seed, left=left)
    state = climbed(hull, batch, embeds, seed)
    vectors, ids = hull.embed(state, embeds, batch), hull.corner(state, batch)
    frozen = batch["candidate_mask"].sum(dim=2) == 1
    assert frozen[batch["movable"] == 0].all()
    assert torch.equal(vectors[frozen], embeds[frozen])
    assert torch.equal(ids[frozen], batch["input_ids"][frozen])


@given(hulls, lengths, st.integers(0, 99))
def test_corners_are_candidates(hull, shape, seed):
    batch, embeds = case(shape, seed)
    ids = hull.corner(climbed(hull, batch, embeds, seed), batch)
    meant = (batch["candidates"] == ids.unsqueeze(2)) & batch["candidate_mask"]
    assert meant.any(dim=2).all()


def test_where_the_ascent_begins():
    batch, embeds = case((6, 5), 0)
    torch.manual_seed(0)
    weights = ConvexHull().weights(ConvexHull().start(embeds, batch), batch)
    filled = batch["candidate_mask"].sum(dim=2, keepdim=True)
    assert (weights * filled)[batch["candidate_mask"]].sub(1).abs().max() < 1.5
    original = ConvexHull(begin="original")
    assert original.weights(original.start(embeds, batch), batch)[..., 0].min() > 0.8
    big = {"candidate_mask": torch.ones(8, 300, 10, dtype=torch.bool), "candidates": torch.empty(0)}
    assert ConvexHull().start(embeds, big)[..., 0].std() == pytest.approx(0.0258, rel=0.05)


def test_a_mask_of_numbers_is_a_mask():
    batch, embeds = case((6, 5), 0)
    numbers = {**batch, "candidate_mask": batch["candidate_mask"].long()}
    state = climbed(ConvexHull(), batch, embeds, 0)
    hull = ConvexHull()
    assert torch.equal(hull.embed(state, embeds, numbers), hull.embed(state, embeds, batch))


def test_the_entropys_slope_is_its_derivative():
    batch, embeds = case((6, 5), 0)
    hull = ConvexHull(entropy=0.7)
    state = climbed(hull, batch, embeds, 0).requires_grad_()
    weights = hull.weights(state, batch)
    entropy = -(weights * weights.clamp_min(1e-30).log()).sum()
    (slope,) = torch.autograd.grad(0.7 * entropy, state)
    assert slope.abs().max() > 1e-3
    found = hull._entropy_slope(state.detach(), batch)
    torch.testing.assert_close(found, slope[..., 0], rtol=0, atol=1e-6)


def test_steps_are_those_of_torchs_adam():
    """The released loop: Adam with decay on -loss + 15 * (entropy of all tokens) / 38400."""
    batch, embeds = case((6, 4, 5), 3)
    hull, mask = StillHull(learning_rate=1.0, weight_decay=2e-5), batch["candidate_mask"]
    target = torch.randn(embeds.shape, generator=torch.Generator().manual_seed(1))
    state = hull.start(embeds, batch)
    logits = torch.zeros(mask.shape, requires_grad=True)
    adam = torch.optim.Adam([logits], lr=1.0, weight_decay=2e-5)
    for _ in range(10):
        state = state.detach().requires_grad_()
        value = (hull.embed(state, embeds, batch) * target).sum()
        (gradient,) = torch.autograd.grad(value, state)
        state = hull.step(state.detach(), gradient, batch)

        p = (logits * mask + 500.0 * (mask.float() - 1)).softmax(dim=2)
        mixed = torch.where(
            mask.sum(2, keepdim=True) > 1,
            torch.einsum("bls,blsh->blh", p, batch[CANDIDATE_VECTORS]),
            embeds,
        )
        entropy = -(p * (p + 1e-30).log()).sum()
        adam.zero_grad()
        (-(mixed * target).sum() + 15 * entropy / (300 * 128)).backward()
        adam.step()
    several = (mask.sum(2, keepdim=True) > 1) & mask
    assert logits[several].abs().max() > 3
    torch.testing.assert_close(state[..., 0][several], logits[several].detach(), rtol=0, atol=2e-4)


def test_candidates_are_asked_for():
    batch, embeds = case((6, 5), 0)
    bare = {name: value for name, value in batch.items() if not name.startswith("candidate")}
    with pytest.raises(InputError, match="no substitutes for its words"):
        ConvexHull().start(embeds, bare)
    with pytest.raises(InputError, match=r"tokenise with holdfast\.data\.EncodedExamples"):
        L2Ball().start(embeds, {"input_ids": batch["input_ids"]})


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "entropy"])
def test_a_hull_without_meaning_is_refused(name):
    with pytest.raises(InputError, match="must be above 0"):
        ConvexHull(**{name: -1.0})


def test_a_hull_names_where_it_may_begin():
    with pytest.raises(InputError, match="begin is 'zero'; expected one of uniform, original"):
        ConvexHull(begin="zero")


@pytest.mark.parametrize("region", [L2Ball(radius=None), LinfBall(), ConvexHull(begin="original")])
def test_regions_are_their_own_json(region):
    assert decode(type(region), encode(region)) == region


def test_the_batch_of_these_tests_has_every_kind_of_token():
    mask = adversarial_batch()["candidate_mask"].sum(dim=2)
    assert set(mask.flatten().tolist()) == set(range(1, SLOTS + 1))
