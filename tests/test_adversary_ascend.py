"""The ascent: losses rise, the model is left as it was, the worst corner is a real text."""

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from families import classifier
from objective_cases import StillHull, adversarial_batch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import (
    ConvexHull,
    L2Ball,
    LinfBall,
    Region,
    ascend,
    attacking,
    hull_predictions,
    inputs_of,
    look_up,
    run_on,
    with_candidate_vectors,
    worst_corner,
)

REGIONS: dict[str, Region] = {
    "l2": L2Ball(radius=2.0, step_size=0.5),
    "l2 of tokens": L2Ball(
        radius=0.5, step_size=0.2, scope="token", begin="normal", begin_scale=0.1
    ),
    "linf": LinfBall(radius=0.3, step_size=0.1),
    "hull": ConvexHull(),
}


def cross_entropy(model: nn.Module, batch: dict[str, Tensor], vectors: Tensor) -> Tensor:
    logits = run_on(model, batch, vectors).logits
    return functional.cross_entropy(logits, batch["labels"], reduction="sum")


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_the_loss_rises(name, family):
    region, model = REGIONS[name], classifier(family)
    batch = with_candidate_vectors(model, adversarial_batch())
    embeds = look_up(model, batch["input_ids"])
    values = []
    for steps in (0, 10):
        torch.manual_seed(0)
        with attacking(model) as inner:
            state = ascend(region, lambda v: cross_entropy(inner, batch, v), embeds, batch, steps)
            reached = region.embed(state, embeds, batch)
            values.append(float(cross_entropy(inner, batch, reached).detach()))
    assert values[1] > 1.1 * values[0]


def test_an_example_does_not_depend_on_its_batch():
    model, hull = classifier("bert"), StillHull()
    batch = with_candidate_vectors(model, adversarial_batch())
    alone = {name: value[:1] for name, value in batch.items()}
    states = []
    for part in (batch, alone):
        embeds = look_up(model, part["input_ids"])
        with attacking(model) as inner:
            states.append(
                ascend(hull, lambda v, b=part: cross_entropy(inner, b, v), embeds, part, 3)
            )
    torch.testing.assert_close(states[0][:1], states[1], rtol=0, atol=1e-3)


def test_the_state_comes_back_without_a_graph():
    model, batch = classifier("bert"), adversarial_batch()
    embeds = look_up(model, batch["input_ids"])
    with attacking(model) as inner, torch.no_grad():  # as in an evaluation
        state = ascend(L2Ball(), lambda v: cross_entropy(inner, batch, v), embeds, batch, 2)
    assert state.any()
    assert not state.requires_grad


def flags(model: nn.Module) -> list[bool]:
    return [part.training for part in model.modules()] + [
        parameter.requires_grad for parameter in model.parameters()
    ]


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_is_left_as_it_was(fails):
    model, batch = classifier("bert").train(), adversarial_batch()
    model.bert.encoder.layer[0].eval()  # a mixed model stays mixed
    model.classifier.bias.requires_grad_(False)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0) if parameter.dim() == 2 else None
    before, seen = flags(model), []

    def loss(vectors: Tensor) -> Tensor:
        seen.append(flags(model))
        if fails and len(seen) == 2:
            raise RuntimeError("the loss broke")
        return cross_entropy(model, batch, vectors)

    def climb() -> None:
        with attacking(model):
            ascend(L2Ball(), loss, look_up(model, batch["input_ids"]), batch, 3)

    if fails:
        with pytest.raises(RuntimeError, match="the loss broke"):
            climb()
    else:
        climb()
    assert not any(flag for each in seen for flag in each)
    assert flags(model) == before
    for parameter in model.parameters():
        assert parameter.grad is None if parameter.dim() != 2 else parameter.grad.eq(3.0).all()
    assert not model.get_input_embeddings()._forward_hooks


def test_climbing_under_autocast():
    model = classifier("bert")
    batch = with_candidate_vectors(model, adversarial_batch())
    embeds = look_up(model, batch["input_ids"])
    with torch.autocast("cpu", torch.bfloat16), attacking(model) as inner:
        for region in REGIONS.values():
            state = ascend(region, lambda v: cross_entropy(inner, batch, v), embeds, batch, 2)
            vectors = region.embed(state, embeds, batch)
            assert state.isfinite().all()
            assert vectors.dtype == torch.float32
            still = batch["movable"] == 0
            assert torch.equal(vectors[still], embeds[still])


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_under_autocast_the_whole_model_is_lowered_and_comes_back(family):
    model = classifier(family).eval()
    batch = adversarial_batch()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    parameters = dict(model.named_parameters())
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        usual = model(**inputs_of(batch)).logits
        with attacking(model) as attacked:
            assert {value.dtype for value in attacked.parameters()} == {torch.bfloat16}
            assert not torch.is_autocast_enabled("cpu")
            vectors = look_up(attacked, batch["input_ids"])
            cast = run_on(attacked, batch, vectors).logits
    assert torch.allclose(usual.float(), cast.float(), atol=0.05)
    assert dict(model.named_parameters()).keys() == parameters.keys()
    assert all(parameters[name] is value for name, value in model.named_parameters())
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())


@pytest.fixture
def fresh_accelerate():
    """Forget the precision that another test, in the same process, may have begun with."""
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def test_accelerates_wrapper_is_passed_by_and_put_back(fresh_accelerate):
    model, batch = classifier("bert").eval(), adversarial_batch()
    prepared = Accelerator(mixed_precision="bf16", cpu=True).prepare_model(model)
    wrapped = prepared.forward
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        with attacking(prepared) as attacked:
            assert attacked(**inputs_of(batch)).logits.dtype == torch.bfloat16
        assert prepared(**inputs_of(batch)).logits.dtype == torch.float32
    assert prepared.forward == wrapped


def test_a_corner_under_autocast_is_the_word_unrounded():
    model, hull = classifier("bert"), ConvexHull()
    batch = with_candidate_vectors(model, adversarial_batch())
    state = hull.start(look_up(model, batch["input_ids"]), batch)
    state[..., 0] = -200.0
    state[..., 0, 0] = 200.0
    with torch.autocast("cpu", torch.bfloat16):
        vectors = hull.embed(state, look_up(model, batch["input_ids"]), batch)
    assert torch.equal(vectors, look_up(model, batch["input_ids"]))


# -- the worst corner -------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_the_worst_corner_is_made_of_candidates_and_hurts(family):
    model, batch = classifier(family).train(), adversarial_batch()
    torch.manual_seed(0)
    ids = worst_corner(model, batch, ConvexHull(), 10)
    assert model.training
    meant = (batch["candidates"] == ids.unsqueeze(2)) & batch["candidate_mask"]
    assert meant.any(dim=2).all()
    model.eval()
    losses = [
        functional.cross_entropy(
            model(**inputs_of(batch) | {"input_ids": i}).logits, batch["labels"]
        )
        for i in (batch["input_ids"], ids)
    ]
    assert losses[1] > losses[0]


def test_predictions_are_those_on_the_worst_corner():
    model, batch = classifier("bert").train(), adversarial_batch()
    logits = hull_predictions(model, batch, StillHull(), 5)
    assert not logits.requires_grad
    ids = worst_corner(model, batch, StillHull(), 5)
    assert torch.equal(logits, model.eval()(**inputs_of(batch) | {"input_ids": ids}).logits)


def test_predictions_leave_no_gradient_in_the_table():
    model = classifier("bert")
    hull_predictions(model, adversarial_batch(), StillHull(), 2)
    assert all(parameter.grad is None for parameter in model.parameters())
