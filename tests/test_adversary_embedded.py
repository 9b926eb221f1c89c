"""Models run on given vectors: the same answers for their own, other ones for others."""

import pytest
import torch
from families import NAMES, classifier
from objective_cases import adversarial_batch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel
from transformers import PreTrainedModel

from holdfast.adversary import (
    inputs_of,
    look_up,
    plain,
    run_on,
    run_on_both,
    with_candidate_vectors,
)
from holdfast.adversary.batch import CANDIDATE_VECTORS
from holdfast.errors import InputError
from holdfast.implicit import connect, recommended


def own_vectors(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return look_up(model, batch["input_ids"])


@pytest.fixture
def bert() -> PreTrainedModel:
    return classifier("bert")


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("left", [False, True])
def test_own_vectors_give_the_plain_forward_bit_for_bit(family, left):
    model, batch = classifier(family), adversarial_batch(left=left)
    wanted = model(**inputs_of(batch)).logits
    assert torch.equal(run_on(model, batch, own_vectors(model, batch)).logits, wanted)


@pytest.mark.parametrize("family", NAMES)
def test_other_vectors_reach_the_logits_and_every_example_its_own(family):
    model, batch = classifier(family), adversarial_batch()
    vectors = own_vectors(model, batch).detach()
    vectors[1] += torch.randn(vectors[1].shape, generator=torch.Generator().manual_seed(0))
    vectors.requires_grad_()
    logits = run_on(model, batch, vectors).logits
    (slope,) = torch.autograd.grad(logits[1].square().sum(), vectors)
    moved = (logits - model(**inputs_of(batch)).logits).abs().amax(dim=1)
    assert moved[1] > 1e-4
    assert moved[[0, 2, 3]].max() < 1e-5
    assert slope[1].any()
    assert not slope[[0, 2, 3]].any()


@pytest.mark.parametrize("family", NAMES)
def test_vectors_of_other_words_give_what_those_words_give(family):
    model, batch = classifier(family), adversarial_batch()
    real = batch["movable"].bool()
    other = torch.where(real, (batch["input_ids"] + 7) % 50 + 5, batch["input_ids"])
    wanted = model(**inputs_of(batch) | {"input_ids": other}).logits
    assert torch.equal(run_on(model, batch, look_up(model, other)).logits, wanted)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_both_halves_of_a_double_forward_are_single_ones(family):
    model, batch = classifier(family), adversarial_batch()
    clean = own_vectors(model, batch)
    other = clean + 0.3 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    first, second = run_on_both(model, batch, clean, other).logits.chunk(2)
    torch.testing.assert_close(first, run_on(model, batch, clean).logits)
    torch.testing.assert_close(second, run_on(model, batch, other).logits)


def test_hidden_states_come_on_demand(bert):
    batch = adversarial_batch()
    vectors = own_vectors(bert, batch)
    assert run_on(bert, batch, vectors).hidden_states is None
    assert len(run_on(bert, batch, vectors, states=True).hidden_states) == 4


def test_gradients_reach_the_table_through_the_given_vectors(bert):
    batch = adversarial_batch()
    run_on(bert, batch, own_vectors(bert, batch)).logits.square().sum().backward()
    found = bert.get_input_embeddings().weight.grad.clone()
    bert.zero_grad()
    bert(**inputs_of(batch)).logits.square().sum().backward()
    torch.testing.assert_close(found, bert.get_input_embeddings().weight.grad)


def test_no_hook_is_left_behind_not_even_by_an_error(bert):
    batch = adversarial_batch()
    with pytest.raises(InputError, match="packs or splits its batch"):
        run_on(bert, batch, own_vectors(bert, batch)[:, :-1])
    run_on(bert, batch, own_vectors(bert, batch))
    assert not bert.get_input_embeddings()._forward_hooks


def test_candidates_of_a_padded_batch_are_looked_up():
    model, batch = classifier("roberta"), adversarial_batch()
    vectors = with_candidate_vectors(model, batch)[CANDIDATE_VECTORS]
    table = model.get_input_embeddings().weight
    assert vectors.shape == (*batch["candidates"].shape, table.shape[1])
    assert torch.equal(vectors, table[batch["candidates"]])
    # the frozen slot of padding is what the model itself looks up for padding
    assert torch.equal(vectors[..., 0, :], own_vectors(model, batch))


def test_token_types_read_from_the_same_table_are_left_alone():
    model, batch = classifier("gpt2"), adversarial_batch()
    batch["token_type_ids"] = torch.ones_like(batch["input_ids"])
    wanted = model(**inputs_of(batch)).logits
    assert torch.equal(run_on(model, batch, own_vectors(model, batch)).logits, wanted)


def test_a_connected_model_reads_given_vectors(bert):
    batch = adversarial_batch()
    connect(bert, recommended)
    wanted = bert(**inputs_of(batch)).logits
    assert torch.equal(run_on(bert, batch, own_vectors(bert, batch)).logits, wanted)


def test_low_precision_autocast_takes_full_vectors(bert):
    batch = adversarial_batch()
    with torch.autocast("cpu", torch.bfloat16):
        wanted = bert(**inputs_of(batch)).logits
        found = run_on(bert, batch, own_vectors(bert, batch)).logits
    assert torch.equal(found, wanted)


def test_plain_is_the_model_inside_what_wraps_it(bert):
    assert plain(bert) is bert
    wrapped = DataParallel(bert)
    assert plain(wrapped) is bert
    compiled = torch.compile(wrapped, backend="eager")
    assert plain(compiled) is bert
    assert compiled._orig_mod is wrapped, "unwrapping must not change what was wrapped"


def test_a_compiled_model_is_refused(bert):
    batch = adversarial_batch()
    vectors = own_vectors(bert, batch)
    with pytest.raises(InputError, match="without torch_compile"):
        run_on(torch.compile(bert, backend="eager"), batch, vectors)
    bert.compile(backend="eager")
    with pytest.raises(InputError, match="without torch_compile"):
        run_on(bert, batch, vectors)


class NoTable(nn.Module):
    def get_input_embeddings(self) -> None:
        return None


class NeverLooks(nn.Module):
    """Has a table and reads something else."""

    def __init__(self, bert: PreTrainedModel) -> None:
        super().__init__()
        self.bert, self.config = bert, bert.config

    def get_input_embeddings(self) -> nn.Module:
        return self.bert.get_input_embeddings()

    def forward(self, **_: Tensor) -> None:
        return None


def test_models_without_vectors_to_perturb_are_refused(bert):
    batch = adversarial_batch()
    with pytest.raises(InputError, match="NoTable has no table of token vectors"):
        look_up(NoTable(), batch["input_ids"])
    with pytest.raises(InputError, match="NeverLooks never looked up its tokens"):
        run_on(NeverLooks(bert), batch, own_vectors(bert, batch))
