"""`inspect_model`: what it says of a connection, and that it leaves the model alone."""

import json

import pytest
import torch
from families import DEPTH, END, HIDDEN, PAD, VOCABULARY, classifier
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertModel, PreTrainedModel, PreTrainedTokenizerFast

from holdfast.errors import InputError
from holdfast.implicit import (
    Connection,
    Explicit,
    ImplicitEuler,
    Scheme,
    Theta,
    connect,
    connected,
)
from holdfast.implicit.inspection import Inspection, _one_sequence, inspect_model
from holdfast.record import encode
from holdfast.solve import Anderson, Descent, Detached

TEXTS = ("w9 w10 w11 w12 w13 w14", "w20 w21", "w30 w31 w32 w33")
LENGTH = 12


def tokenizer() -> PreTrainedTokenizerFast:
    special = {PAD: "[PAD]", 1: "[UNK]", END: "[SEP]", 3: "[CLS]"}
    words = {special.get(number, f"w{number}"): number for number in range(VOCABULARY)}
    plain = Tokenizer(models.WordLevel(words, "[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.post_processor = processors.BertProcessing(("[SEP]", END), ("[CLS]", 3))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, model_input_names=["input_ids", "attention_mask"], **names
    )


def inspected(model: PreTrainedModel, *texts: str, iterations: int = 3) -> Inspection:
    return inspect_model(
        model,
        tokenizer(),
        texts or TEXTS,
        max_length=LENGTH,
        schemes={"none": None, "Explicit": Connection(scheme=Explicit())},
        iterations=iterations,
    )


def test_a_plain_model() -> None:
    found = inspected(classifier("bert"))
    assert found.connection is None
    assert (found.family, found.texts, found.tokens) == ("bert", 3, 6 + 2 + 4 + 3 * 2)
    assert [row.layer for row in found.layers] == [1, 2, 3]
    assert {row.scheme for row in found.layers} == {"none"}
    assert {row.solve for row in found.layers} == {None}
    assert found.batch.invariant
    assert found.cost.paper == found.cost.paper_plain
    assert found.cost.counted == found.cost.counted_plain
    assert [growth.name for growth in found.growth] == ["none", "Explicit"]


def test_a_connected_model_layer_by_layer() -> None:
    model = classifier("bert", scale=0.5)
    solver = Anderson(max_steps=30, tolerance=1e-5)
    connect(model, Connection(layers="2-3", scheme=Theta(0.5), solver=solver))
    found = inspected(model)
    one, two, three = found.layers
    assert (one.scheme, two.scheme, three.scheme) == ("none", "Theta", "Theta")
    assert one.solve is None
    for row in (two, three):
        assert row.solve.residual_after < 1e-5 < row.solve.residual_before
        assert row.solve.evaluations >= 1
    assert found.batch.invariant
    assert found.batch.difference < found.batch.tolerance == 1e-4
    assert found.growth[-1].name == "this connection"


def test_singular_values_are_those_of_the_dense_jacobian() -> None:
    model = classifier("bert")
    (_, second, _) = inspected(model, "w9 w10", iterations=200).layers
    encoded = tokenizer()(["w9 w10"], return_tensors="pt")
    model.requires_grad_(False)
    states = model(**encoded, output_hidden_states=True).hidden_states
    jacobian = torch.func.jacrev(model.bert.encoder.layer[1])(states[1])
    size = 4 * HIDDEN
    jacobian = jacobian.reshape(size, size)
    defect = torch.linalg.matrix_norm(torch.eye(size) - jacobian, 2)
    assert second.defect.largest == pytest.approx(float(defect), rel=1e-2)
    contraction = torch.linalg.matrix_norm(jacobian, 2)
    assert second.contraction.largest == pytest.approx(float(contraction), rel=1e-2)
    assert second.radius.largest <= second.contraction.largest * 1.01


def test_the_equation_of_the_scheme_decides_the_jacobian() -> None:
    model = classifier("bert")
    plain = inspected(model, "w9 w10", iterations=50).layers[0]
    # With theta = 1e-6 the solution is the layer's output, and g hardly depends on x at all.
    with connect(model, Connection(layers="1", scheme=Theta(1e-6))):
        nearly_explicit = inspected(model, "w9 w10", iterations=50).layers[0]
    assert nearly_explicit.contraction.largest < 1e-4
    assert nearly_explicit.defect.largest == pytest.approx(1.0, abs=1e-3)
    with connect(model, Connection(layers="1", scheme=Explicit())):
        explicit = inspected(model, "w9 w10", iterations=50).layers[0]
    assert explicit.solve is None
    assert explicit.contraction == plain.contraction


def test_costs_of_the_papers_connection() -> None:
    model = classifier("bert")
    solver = Descent(steps=5, step_size=0.01, norm="l2_token")
    connection = Connection("2-3", ImplicitEuler(), solver, Detached(), on_failure="keep")
    with connect(model, connection):
        cost = inspected(model).cost
    assert cost.length == LENGTH
    assert cost.parameters == sum(p.numel() for p in model.parameters())
    assert cost.paper == pytest.approx(cost.paper_plain * (1 + 5 * 2 / DEPTH))
    # The inner backward really runs: five products beside the six evaluations of a solve.
    assert cost.counted.forward > cost.counted_plain.forward * (1 + 10 * 2 / DEPTH)
    assert cost.counted.training_step > cost.counted.forward


def test_answers_that_depend_on_the_batch_are_found() -> None:
    model = classifier("bert")
    model.classifier.register_forward_hook(lambda _, args, out: out + 1e-3 * len(args[0]))
    found = inspected(model)
    assert not found.batch.invariant
    assert found.batch.difference == pytest.approx(2e-3, rel=1e-2)


def test_the_model_is_left_as_it_was() -> None:
    model = classifier("bert").train()
    handle = connect(model, Connection(scheme=Theta(0.5), on_failure="keep"))
    model(**tokenizer()(list(TEXTS), return_tensors="pt", padding=True))
    readings = handle.readings()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    inspected(model)
    assert connected(model) is handle
    assert handle.readings() == readings
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("family", "attention"),
    [
        ("bert", "sdpa"),
        ("modernbert", "sdpa"),
        ("gpt2", "eager"),
        ("llama", "sdpa"),
        ("t5", "sdpa"),
    ],
)
def test_families(family: str, attention: str) -> None:
    model = classifier(family, attention=attention, scale=0.5)
    with connect(model, Connection(layers="2-3", scheme=Theta(0.5), on_failure="keep")):
        found = inspected(model)
    assert len(found.layers) == (2 * DEPTH if family == "t5" else DEPTH)
    assert all(row.defect.mean > 0 and row.contraction.mean > 0 for row in found.layers)
    assert found.cost.paper > found.cost.paper_plain > 0
    assert found.growth[0].mean[-1] > 0


@pytest.mark.parametrize("family", ["gpt2", "llama", "t5"])
def test_an_unconnected_decoder_is_measured_as_without_a_cache(family: str) -> None:
    found = []
    for cached in (True, False):  # a configuration may ask for one, and most of decoders do
        model = classifier(family, scale=0.5)
        model.config.use_cache = cached
        found.append(inspected(model))
    assert encode(found[0].layers) == encode(found[1].layers)


def test_relative_positions_without_a_second_kernel() -> None:
    assert len(inspected(classifier("deberta-v2")).layers) == DEPTH


def test_an_inspection_is_json_and_can_be_repeated() -> None:
    model = classifier("bert")
    connect(model, Connection(scheme=Theta(0.5), on_failure="keep"))
    first, second = (encode(inspected(model)) for _ in range(2))
    assert json.dumps(first, allow_nan=False) == json.dumps(second, allow_nan=False)
    assert first["connection"]["scheme"] == {"type": "Theta", "theta": 0.5}


def test_progress_is_told() -> None:
    said: list[str] = []
    inspect_model(
        classifier("bert"),
        tokenizer(),
        TEXTS,
        max_length=LENGTH,
        schemes={},
        iterations=1,
        progress=said.append,
    )
    assert len(said) == 4


def test_a_half_precision_model_is_inspected_in_single_precision() -> None:
    model = classifier("bert").bfloat16()
    assert inspected(model).batch.invariant
    assert model.dtype == torch.bfloat16


def test_no_more_tokens_are_kept_than_the_model_has_positions_for() -> None:
    model = classifier("roberta", max_position_embeddings=8)
    found = inspect_model(
        model, tokenizer(), ["w9 w10 w11 w12 w13 w14 w15 w16", "w9"], schemes={}, iterations=1
    )
    assert found.tokens == 7 + 3
    assert found.cost.length == 7


@pytest.mark.parametrize(
    "texts", [("w9",), ("w9 w10", "w11"), tuple(f"w{n}" for n in range(9, 40))]
)
def test_cost_is_that_of_one_full_sequence(texts: tuple[str, ...]) -> None:
    encoded = _one_sequence(classifier("bert"), tokenizer(), texts, LENGTH)
    (ids,) = encoded["input_ids"].tolist()
    words = [int(word[1:]) for text in texts for word in text.split()]
    assert ids == [3, *(words * LENGTH)[: LENGTH - 2], END]


@pytest.mark.parametrize("length", [-1, 0, 2])
def test_a_length_without_room_for_a_word(length: int) -> None:
    with pytest.raises(InputError, match=rf"A length of {length} tokens .* ask for 3 or more"):
        inspect_model(classifier("bert"), tokenizer(), TEXTS, max_length=length)


@pytest.mark.parametrize("scheme", [Explicit(), Theta(0.0)])
def test_a_layer_without_an_equation_is_measured_itself(scheme: Scheme) -> None:
    model = classifier("bert")
    plain = inspected(model, "w9 w10").layers[0]
    with connect(model, Connection(layers="1", scheme=scheme)):
        found = inspected(model, "w9 w10").layers[0]
    assert found.solve is None
    assert (found.defect, found.contraction) == (plain.defect, plain.contraction)


def test_mistakes_are_told() -> None:
    with pytest.raises(InputError, match="at least one text"):
        inspect_model(classifier("bert"), tokenizer(), [])
    with pytest.raises(InputError, match="none of them empty"):
        inspected(classifier("bert"), "w9", "  ")
    headless = BertModel(classifier("bert").config).eval()
    with pytest.raises(InputError, match="AutoModelForSequenceClassification"):
        inspected(headless)
