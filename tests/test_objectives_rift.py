"""RIFT: its formula, what it shares with adversarial training, and what it keeps beyond it."""

import math

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
    learnt,
    learnt_by_two,
    only_loss,
    without_dropout,
)
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, PreTrainedModel

from holdfast.adversary import inputs_of
from holdfast.errors import InputError
from holdfast.implicit import connect
from holdfast.objectives import Objective, Standard
from holdfast.objectives.adversarial import Adversarial, face_hull
from holdfast.objectives.rift import Rift
from holdfast.record import decode, encode

SMALL = {"steps": 3, "hull": StillHull(), "head_width": 16, "projection": 8}
STILL = Rift(alpha=0.7, beta=3.0, **SMALL)


@pytest.mark.parametrize("transpose", [False, True])
def test_it_is_its_formula_with_its_gradients(transpose):
    objective = Rift(alpha=0.7, beta=3.0, transpose=transpose, **SMALL)
    model, batch = classifier("bert").double(), adversarial_batch()
    torch.manual_seed(0)
    extras = objective.extras(model).double()
    found = only_loss(objective, model, extras, batch)
    adversarial = Adversarial(beta=3.0, steps=3, hull=StillHull())
    wanted = only_loss(adversarial, model, nn.Module(), batch).total
    states = face_hull(model, batch, StillHull(), 3, states=True).output.hidden_states[-1][4:]
    student = model.bert.pooler(states)
    teacher = extras.reference.model(**inputs_of(batch)).pooler_output
    terms = []
    for number, heads in enumerate(extras.comparison.heads):
        own = batch["labels"] == number
        s = functional.normalize(heads.student(student[own]))
        t = functional.normalize(heads.teacher(teacher[own]))
        over = 0 if transpose else 1  # Equation 10 normalises over teachers, the code over students
        terms.append(-(s @ t.T / 0.2).log_softmax(dim=over).diagonal().mean())
    term = (terms[0] + terms[1]) / 2
    wanted = wanted + 0.7 * term
    torch.testing.assert_close(found.total, wanted, rtol=0, atol=1e-6)
    bound = found.parts["information"]
    assert float(bound) == pytest.approx(math.log(2) - float(term.detach()), abs=1e-6)
    both = nn.ModuleDict({"model": model, "extras": extras})
    assert_same(gradients(both, [found.total]), gradients(both, [wanted]), atol=1e-6)


def test_without_alpha_it_is_adversarial_training_bit_for_bit():
    model, batch = classifier("bert").train(), adversarial_batch()
    rift, adversarial = Rift(alpha=0.0, steps=3), Adversarial(steps=3)
    assert not rift.extras(model).state_dict()
    totals, slopes = [], []
    for objective in (rift, adversarial):
        torch.manual_seed(0)  # of the dropout and of the ascent's start
        loss = only_loss(objective, model, nn.Module(), batch)
        totals.append(loss.total.detach())
        slopes.append(gradients(model, [loss.total]))
        assert set(loss.parts) == {"clean", "divergence", "adversarial"}
    assert torch.equal(*totals)
    assert all(torch.equal(slopes[0][name], slopes[1][name]) for name in slopes[1])


def test_each_forward_happens_once():
    model, batch = classifier("bert"), adversarial_batch()
    extras, calls = STILL.extras(model), []
    model.register_forward_pre_hook(
        lambda _, args, kwargs: calls.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    extras.reference.model.register_forward_pre_hook(lambda *_: calls.append("reference"))
    only_loss(STILL, model, extras, batch)
    assert calls == [4, 4, 4, 4, 8, "reference"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_is_reached_in_every_family(family):
    features = "pooler" if family == "bert" else "first"
    objective = Rift(features=features, **SMALL)
    model, batch = classifier(family).train(), adversarial_batch()
    extras = objective.extras(model)
    loss = only_loss(objective, model, extras, batch)
    plain = gradients(model, [only_loss(Standard(), model, nn.Module(), batch).total])
    both = gradients(nn.ModuleDict({"model": model, "extras": extras}), [loss.total])
    assert {name for name in both if name.startswith("model.")} == {
        f"model.{name}" for name in plain
    }
    heads = {name for name in both if name.startswith("extras.")}
    assert len(heads) == len(list(extras.comparison.parameters()))
    assert all(value.isfinite().all() for value in both.values())


@pytest.mark.parametrize("name", CONNECTIONS)
def test_connected_models_train(name):
    model, batch = without_dropout(classifier("bert").train()), adversarial_batch()
    connect(model, CONNECTIONS[name])
    loss = only_loss(STILL, model, STILL.extras(model), batch)
    reached = gradients(model, [loss.total])
    assert len(reached) == len(list(model.parameters()))
    assert all(value.isfinite().all() for value in reached.values())


GOLDEN = [1.6764, 1.3750, 1.6423, 1.4166]


def test_golden_losses():
    model = without_dropout(classifier("bert").train())
    torch.manual_seed(5)
    assert curve(STILL, model, STILL.extras(model)) == pytest.approx(GOLDEN, abs=2e-4)


def test_low_precision():
    model, batch = classifier("bert").train(), adversarial_batch()
    with torch.autocast("cpu", torch.bfloat16):
        loss = only_loss(STILL, model, STILL.extras(model), batch)
    assert loss.total.dtype == torch.float32
    assert all(value.isfinite().all() for value in gradients(model, [loss.total]).values())


def test_the_last_batch_may_lack_a_class():
    model, batch = classifier("bert"), adversarial_batch()
    batch["labels"] = torch.tensor([0, 0, 0, 1])
    extras = STILL.extras(model)
    whole = only_loss(STILL, model, extras, batch)
    assert float(whole.parts["information"]) <= math.log(3)
    batch["labels"] = torch.tensor([0, 0, 0, 0])
    assert only_loss(STILL, model, extras, batch).total.isfinite()


def test_what_it_tells_the_trainer():
    objective: Objective = Rift()
    assert (objective.passes, objective.moves, objective.substitutes) == (1, False, True)
    assert objective.class_conditional
    assert not Rift(alpha=0.0).class_conditional
    assert not Rift(conditional=False).class_conditional
    assert decode(Rift, encode(Rift(alpha=0.7, beta=5.0))) == Rift(alpha=0.7, beta=5.0)


def test_what_cannot_work_is_refused():
    model = classifier("roberta")
    with pytest.raises(InputError, match="has no pooler"):
        Rift().extras(model)
    with pytest.raises(InputError, match="alpha without a frozen reference"):
        only_loss(STILL, classifier("bert"), nn.Module(), adversarial_batch())
    for settings in ({"alpha": -1.0}, {"tau": 0.0}, {"beta": -1.0}, {"steps": 0}):
        with pytest.raises(InputError, match="expected"):
            Rift(**settings)


# One test for all: starting two processes costs more than everything they do.
def test_two_processes_learn_what_one_does(tmp_path):
    objectives: dict[str, Objective] = {
        "adversarial": Adversarial(beta=3.0, steps=3, hull=StillHull()),
        "rift": STILL,
        "unconditional": Rift(alpha=0.7, beta=3.0, conditional=False, **SMALL),
    }
    found = learnt_by_two(objectives, tmp_path)
    for name, objective in objectives.items():
        wanted = learnt(objective, without_dropout(classifier("bert").train()))
        assert (wanted["1/total"] - wanted["0/total"]).abs() > 1e-3, "nothing was learnt"
        assert_same(found[name], wanted, atol=2e-5)


# -- a feature worth keeping ------------------------------------------------------------------
#
# Sentences of a word that tells the label, a topic that tells nothing of it, and a filler. Words
# that tell the label have substitutes, topics have none. The encoder knows both to begin with.

CLS, SEP = 1, 2
TELLING, TOPICS, FILLERS = torch.tensor([[3, 4, 5], [6, 7, 8]]), torch.tensor([9, 10]), 11


def sentences(count: int, seed: int) -> tuple[dict[str, Tensor], Tensor]:
    """Return a batch and the topics of its texts, every label with every topic equally often."""
    generator = torch.Generator().manual_seed(seed)
    labels, topics = torch.arange(count) % 2, torch.arange(count) // 2 % 2
    which = torch.randint(0, 3, (count,), generator=generator)
    fillers = FILLERS + torch.randint(0, 4, (count,), generator=generator)
    columns = (TELLING[labels, which], TOPICS[topics], TOPICS[topics], fillers)
    ends = torch.full((count,), CLS), torch.full((count,), SEP)
    ids = torch.stack([ends[0], *columns, ends[1]], dim=1)
    candidates = ids.unsqueeze(2).repeat(1, 1, 3)
    candidates[:, 1] = TELLING[labels.unsqueeze(1), (which.unsqueeze(1) + torch.arange(3)) % 3]
    mask = torch.zeros_like(candidates, dtype=torch.bool)
    mask[:, 1], mask[..., 0] = True, True
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    return {**batch, "candidates": candidates, "candidate_mask": mask}, topics


def pre_trained() -> PreTrainedModel:
    torch.manual_seed(5)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForSequenceClassification(
        BertConfig(vocab_size=15, intermediate_size=32, initializer_range=0.3, **sizes, **still)
    )


def trained(objective: Objective) -> PreTrainedModel:
    model = pre_trained()
    torch.manual_seed(0)
    extras = objective.extras(model)
    weights = [p for p in (*model.parameters(), *extras.parameters()) if p.requires_grad]
    optimiser = torch.optim.Adam(weights, lr=5e-3)
    for step in range(60):
        loss = only_loss(objective, model, extras, sentences(32, step)[0])
        optimiser.zero_grad()
        loss.total.backward()
        optimiser.step()
    return model


@torch.no_grad()
def topic_told(model: PreTrainedModel) -> float:
    """Return the share of the topic's variance, given the label, that a linear probe explains."""

    def within(seed: int) -> tuple[Tensor, Tensor]:
        batch, topics = sentences(128, seed)
        states = model.bert(**inputs_of(batch)).pooler_output
        for label in (0, 1):
            own = batch["labels"] == label
            states[own] -= states[own].mean(dim=0)
        return states, 2.0 * topics - 1.0

    (states, topics), (unseen, wanted) = within(1000), within(1001)
    probe = torch.linalg.solve(states.T @ states + torch.eye(16), states.T @ topics)
    return 1.0 - float((unseen @ probe - wanted).square().mean())


@torch.no_grad()
def accuracy(model: PreTrainedModel) -> float:
    batch = sentences(128, 1002)[0]
    return float((model(**inputs_of(batch)).logits.argmax(1) == batch["labels"]).float().mean())


def test_it_keeps_a_feature_that_adversarial_training_loses():
    small = {"beta": 1.0, "steps": 1, "hull": StillHull()}
    lost = trained(Adversarial(**small))
    kept = trained(Rift(alpha=1.0, head_width=32, projection=16, **small))
    assert topic_told(pre_trained()) > 0.8
    assert accuracy(lost) == accuracy(kept) == 1.0
    assert topic_told(lost) < 0.4
    assert topic_told(kept) > 0.8
