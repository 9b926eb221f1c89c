"""Adversarial training in the hull: the formula, its gradients, and every model it meets."""

import pytest
import torch
from families import classifier
from objective_cases import (
    CONNECTIONS,
    FAMILIES,
    StillHull,
    adversarial_batch,
    assert_same,
    curve,
    gradients,
    only_loss,
    rows,
    without_dropout,
)
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import ConvexHull, inputs_of
from holdfast.errors import InputError
from holdfast.implicit import connect
from holdfast.objectives import Objective, Standard
from holdfast.objectives.adversarial import Adversarial
from holdfast.record import decode, encode

STILL = Adversarial(beta=3.0, steps=4, hull=StillHull())


def released(model: nn.Module, batch: dict[str, Tensor], beta: float, steps: int) -> Tensor:
    """The released loop, transcribed: torch's Adam, mixed embeddings, KLDivLoss."""
    table, mask = model.get_input_embeddings(), batch["candidate_mask"]
    double = mask.double()

    def logits(vectors: Tensor) -> Tensor:
        return model(inputs_embeds=vectors, attention_mask=batch["attention_mask"]).logits

    def mixed(weights: Tensor) -> Tensor:
        return torch.einsum("bls,blsh->blh", weights, table(batch["candidates"]))

    def weights(free: Tensor) -> Tensor:
        return (free * double + 500 * (double - 1)).softmax(dim=2)

    free = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([free], lr=1.0, weight_decay=2e-5)
    target = logits(table(batch["input_ids"])).detach().softmax(dim=1)
    for _ in range(steps):
        p = weights(free)
        entropy = -(p * p.clamp_min(1e-30).log()).sum() / (300 * 128)
        answer = logits(mixed(p)).log_softmax(dim=1)
        adam.zero_grad()
        (-functional.kl_div(answer, target, reduction="sum") + 15 * entropy).backward()
        adam.step()
    model.zero_grad()
    clean, worst = logits(table(batch["input_ids"])), logits(mixed(weights(free.detach())))
    divergence = functional.kl_div(
        worst.log_softmax(dim=1), clean.softmax(dim=1), reduction="batchmean"
    )
    return functional.cross_entropy(clean, batch["labels"]) + beta * divergence


def test_it_is_the_released_loss_with_its_gradients():
    model, batch = classifier("bert").double(), adversarial_batch()
    wanted = released(model, batch, STILL.beta, STILL.steps)
    found = only_loss(STILL, model, nn.Module(), batch).total
    assert wanted > 1.0
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=1e-5)
    assert_same(gradients(model, [found]), gradients(model, [wanted]), atol=1e-5)


def test_without_weight_on_the_divergence_it_is_plain_fine_tuning():
    model, batch = classifier("bert"), adversarial_batch()
    found = only_loss(Adversarial(beta=0.0, steps=1), model, nn.Module(), batch).total
    wanted = only_loss(Standard(), model, nn.Module(), batch).total
    torch.testing.assert_close(found, wanted)


def test_a_batch_without_substitutes_diverges_nowhere():
    model, batch = classifier("bert"), adversarial_batch()
    batch["candidate_mask"] = torch.zeros_like(batch["candidate_mask"])
    batch["candidate_mask"][..., 0] = True
    parts = only_loss(STILL, model, nn.Module(), batch).parts
    assert parts["divergence"].abs() < 1e-7
    torch.testing.assert_close(parts["clean"], parts["adversarial"])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_is_reached_in_every_family(family):
    model, batch = classifier(family).train(), adversarial_batch()
    torch.manual_seed(0)
    loss = only_loss(Adversarial(steps=2), model, nn.Module(), batch)
    reached = gradients(model, [loss.total])
    plain = gradients(model, [only_loss(Standard(), model, nn.Module(), batch).total])
    assert reached.keys() == plain.keys()
    assert all(value.isfinite().all() for value in reached.values())
    assert loss.parts["divergence"] > 0


@pytest.mark.parametrize("name", CONNECTIONS)
def test_connected_models_train(name):
    model, batch = classifier("bert").train(), adversarial_batch()
    plain = only_loss(STILL, without_dropout(model), nn.Module(), batch).total.detach()
    connect(model, CONNECTIONS[name])
    total = only_loss(STILL, model, nn.Module(), batch).total
    reached = gradients(model, [total])
    assert (total - plain).abs() > 1e-4
    assert len(reached) == len(list(model.parameters()))
    assert all(value.isfinite().all() for value in reached.values())


def test_half_batches_add_up():
    model, batch = classifier("bert"), adversarial_batch()
    whole = gradients(model, [only_loss(STILL, model, nn.Module(), batch).total])
    halves = [
        only_loss(STILL, model, nn.Module(), rows(batch, part)).total / 2
        for part in (slice(0, 2), slice(2, 4))
    ]
    assert_same(gradients(model, halves), whole, atol=1e-5)


def test_the_inner_loop_leaves_gradients_and_modes_alone():
    model, batch = classifier("bert").train(), adversarial_batch()
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 2.0)
    only_loss(Adversarial(steps=2), model, nn.Module(), batch)
    assert all(parameter.grad.eq(2.0).all() for parameter in model.parameters())
    assert all(part.training for part in model.modules())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_each_forward_happens_once():
    model, batch = classifier("bert"), adversarial_batch()
    sizes: list[tuple[int, bool]] = []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(
            (len(kwargs["input_ids"]), next(module.parameters()).requires_grad)
        ),
        with_kwargs=True,
    )
    only_loss(Adversarial(steps=3), model, nn.Module(), batch)
    assert sizes == [(4, False)] * 4 + [(8, True)]


def test_low_precision():
    model, batch = classifier("bert").train(), adversarial_batch()
    with torch.autocast("cpu", torch.bfloat16):
        loss = only_loss(Adversarial(steps=2), model, nn.Module(), batch)
    assert loss.total.dtype == torch.float32
    assert all(value.isfinite().all() for value in gradients(model, [loss.total]).values())


GOLDEN = [1.1444, 0.7961, 0.9064, 0.8597]


def test_golden_losses_with_and_without_accumulation():
    found = [
        curve(STILL, without_dropout(classifier("bert").train()), nn.Module(), halves=halves)
        for halves in (1, 2)
    ]
    assert found[0] == pytest.approx(GOLDEN, abs=2e-4)
    assert found[1] == pytest.approx(found[0], abs=2e-4)


def test_what_is_logged_is_only_read():
    model, batch = classifier("bert"), adversarial_batch()
    parts = only_loss(STILL, model, nn.Module(), batch).parts
    assert set(parts) == {"clean", "divergence", "adversarial"}
    assert not any(value.requires_grad for value in parts.values())
    logits = model(**inputs_of(batch)).logits
    torch.testing.assert_close(
        parts["clean"], functional.cross_entropy(logits, batch["labels"]).detach()
    )


def test_what_it_tells_the_trainer():
    objective: Objective = Adversarial()
    assert (objective.passes, objective.moves, objective.substitutes) == (1, False, True)
    assert not objective.class_conditional
    assert not objective.extras(classifier("bert")).state_dict()
    assert decode(Adversarial, encode(Adversarial(beta=5.0))) == Adversarial(beta=5.0)
    assert Adversarial() == Adversarial(10.0, 10, ConvexHull())


@pytest.mark.parametrize("settings", [{"beta": -1.0}, {"steps": 0}])
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(InputError, match="expected beta 0 or above and 1 step or more"):
        Adversarial(**settings)


def test_a_batch_that_was_not_prepared_is_refused():
    batch = {k: v for k, v in adversarial_batch().items() if not k.startswith("candidate")}
    with pytest.raises(InputError, match="no substitutes for its words"):
        only_loss(STILL, classifier("bert"), nn.Module(), batch)
