"""InfoNCE by hand, its bound, classes kept apart; and which vector stands for a text."""

import math

import pytest
import torch
from families import NAMES, classifier
from hypothesis import given
from hypothesis import strategies as st
from objective_cases import adversarial_batch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import inputs_of
from holdfast.errors import InputError
from holdfast.objectives.features import FrozenReference, last_states, pick
from holdfast.objectives.information import Comparison, Heads, info_nce, lower_bound

TAU = 0.5


def same(rows: Tensor) -> Tensor:
    return torch.arange(len(rows))


def features(count: int, *, seed: int = 0, width: int = 6) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator), torch.randn(
        count, width, generator=generator
    )


def comparison(classes: int, *, transpose: bool = False, width: int = 6) -> Comparison:
    torch.manual_seed(1)
    return Comparison([Heads(width, 5, 4) for _ in range(classes)], TAU, transpose=transpose)


def naive(heads: Heads, students: Tensor, teachers: Tensor, *, transpose: bool = False) -> Tensor:
    """Equation 10, transcribed term by term."""
    s = [v / v.norm() for v in heads.student(students)]
    t = [v / v.norm() for v in heads.teacher(teachers)]
    total = torch.zeros(())
    for i in range(len(s)):
        others = [t[i] @ other if transpose else s[i] @ other for other in (s if transpose else t)]
        score = s[i] @ t[i] / TAU
        total = total - (score.exp() / sum((o / TAU).exp() for o in others)).log()
    return total / len(s)


def test_a_case_computed_by_hand():
    # cosines: 1 with the own teacher, 0 with the other
    students = torch.tensor([[2.0, 0.0], [0.0, 5.0]])
    teachers = torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    wanted = math.log(1 + math.exp(-1 / TAU))
    each = info_nce(students, teachers, same(students), TAU)
    torch.testing.assert_close(each, torch.full((2,), wanted))
    # students that all look alike cannot be told from one another: log N, and a bound of 0
    each = info_nce(torch.ones(2, 2), teachers, same(students), TAU)
    torch.testing.assert_close(each, torch.full((2,), math.log(2)))
    assert float(lower_bound(each.mean(), 2)) == pytest.approx(0.0, abs=1e-6)


@given(st.integers(2, 9), st.integers(0, 99), st.floats(0.01, 2.0))
def test_the_bound_never_exceeds_the_logarithm_of_the_number(count, seed, tau):
    students, teachers = features(count, seed=seed)
    for first in (students, teachers):  # of teachers with themselves the bound is highest
        loss = info_nce(first, teachers, same(first), tau).mean()
        assert loss >= 0
        assert lower_bound(loss, count) <= math.log(count) + 1e-5


def test_the_bound_is_reached_where_every_text_is_told():
    texts = torch.eye(8)
    loss = info_nce(texts, texts, same(texts), 0.01).mean()
    assert float(lower_bound(loss, 8)) == pytest.approx(math.log(8), abs=1e-5)


@pytest.mark.parametrize("transpose", [False, True])
def test_each_class_is_compared_by_itself_with_its_own_heads(transpose):
    students, teachers = features(7)
    labels = torch.tensor([0, 1, 0, 1, 1, 2, 0])  # one text alone in its class
    compare = comparison(3, transpose=transpose)
    found = compare(students, teachers, labels)
    each = [
        naive(compare.heads[c], students[labels == c], teachers[labels == c], transpose=transpose)
        for c in (0, 1)
    ]
    torch.testing.assert_close(found.loss, (each[0] + each[1]) / 2)
    torch.testing.assert_close(found.bound, math.log(3) - (each[0] + each[1]).detach() / 2)
    assert not found.bound.requires_grad


def test_the_two_forms_differ():
    students, teachers = features(6)
    losses = [
        float(comparison(1, transpose=t)(students, teachers, torch.zeros(6).long()).loss.detach())
        for t in (False, True)
    ]
    assert abs(losses[0] - losses[1]) > 1e-3


def test_one_pair_of_heads_compares_all_texts():
    students, teachers = features(5)
    compare = comparison(1)
    found = compare(students, teachers, torch.tensor([0, 1, 0, 1, 2])).loss
    torch.testing.assert_close(found, naive(compare.heads[0], students, teachers))


def test_what_another_class_says_does_not_matter():
    students, teachers = features(6)
    labels, compare = torch.tensor([0, 0, 0, 1, 1, 2]), comparison(3)
    students.requires_grad_()
    (slope,) = torch.autograd.grad(compare(students, teachers, labels).loss, students)
    assert slope[:5].abs().amax(dim=1).min() > 0
    assert not slope[5].any()


def test_a_batch_of_single_texts_says_nothing():
    students, teachers = features(2)
    found = comparison(2)(students, teachers, torch.tensor([0, 1]))
    assert (found.loss.item(), found.bound.item()) == (0.0, 0.0)


def test_full_precision_under_autocast():
    students, teachers = features(6)
    labels, compare = torch.arange(6) % 2, comparison(2)
    wanted = compare(students, teachers, labels).loss
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(compare(students, teachers, labels).loss, wanted)
        assert compare(students.bfloat16(), teachers.bfloat16(), labels).loss.dtype == torch.float32


# -- features ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("left", [False, True])
def test_a_copy_of_the_model_has_the_models_features(family, left):
    model, batch = classifier(family), adversarial_batch(left=left)
    states = last_states(model(**inputs_of(batch), output_hidden_states=True))
    for kind in ("first", "mean"):
        found = pick(kind, model, states, batch)
        assert found.shape == (4, 32)
        torch.testing.assert_close(FrozenReference(model, kind)(batch), found.detach())


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("kind", ["first", "mean"])
def test_features_have_seen_the_whole_text_and_no_padding(family, kind):
    model, batch = classifier(family), adversarial_batch((6, 3))
    reference = FrozenReference(model, kind)
    before = reference(batch)
    other = {**batch, "input_ids": batch["input_ids"].clone()}
    other["input_ids"][1, 0 if kind == "mean" else 1] = 50
    assert (reference(other)[1] - before[1]).abs().max() > 1e-4
    short = {name: value[1:, :3] if value.dim() > 1 else value[1:] for name, value in batch.items()}
    torch.testing.assert_close(reference(short), before[1:], rtol=0, atol=1e-5)


def test_the_pooler_is_berts():
    model, batch = classifier("bert"), adversarial_batch()
    wanted = model.bert(**inputs_of(batch)).pooler_output
    states = last_states(model(**inputs_of(batch), output_hidden_states=True))
    assert torch.equal(pick("pooler", model, states, batch), wanted)
    assert torch.equal(FrozenReference(model, "pooler")(batch), wanted)


@pytest.mark.parametrize("family", ["roberta", "gpt2", "t5", "distilbert"])
def test_a_model_without_a_pooler_is_refused(family):
    with pytest.raises(InputError, match=r'has no pooler.*"first" or "mean"'):
        FrozenReference(classifier(family), "pooler")


def test_a_pooler_that_is_only_a_matrix_is_refused():
    model = classifier("bert")
    model.bert.pooler = nn.Linear(32, 32)  # as ALBERT's
    with pytest.raises(InputError, match="has no pooler"):
        FrozenReference(model, "pooler")


def test_without_a_mask_every_token_is_real():
    model, batch = classifier("bert"), adversarial_batch((5, 5))
    states = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    bare = {"input_ids": batch["input_ids"]}
    torch.testing.assert_close(pick("mean", model, states, bare), states.mean(dim=1))
    torch.testing.assert_close(
        functional.relu(pick("first", model, states, bare)), states[:, 0].relu()
    )
