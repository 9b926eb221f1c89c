"""What cannot be connected or run: a sentence, and a model left as it was."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from families import DECODERS, PAD, batch, classifier, config, enliven
from transformers import AlbertConfig, AlbertForSequenceClassification, PreTrainedModel

from holdfast.errors import InputError, RunFailed
from holdfast.implicit import Connection, Explicit, Theta, connect, connected, im_bert, recommended
from holdfast.solve import Anderson, Unrolled


def traces(model: PreTrainedModel) -> list[str]:
    """Return the modules that carry a hook; transformers and torch put none there."""
    return [
        name
        for name, part in model.named_modules()
        if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks
    ]


def assert_refused(model: PreTrainedModel, connection: Connection, sentence: str) -> None:
    settings, names = model.config.to_dict(), set(vars(model))
    with pytest.raises(InputError, match=sentence):
        connect(model, connection)
    assert traces(model) == []
    assert connected(model) is None
    assert set(vars(model)) == names
    assert model.config.to_dict() == settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"dropout": "forzen"}, r"Connection\.dropout is 'forzen'; expected one of frozen, resa"),
        ({"on_failure": "ignore"}, r"Connection\.on_failure is 'ignore'; expected one of keep, w"),
    ],
)
def test_settings_without_a_meaning(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Connection(**settings)


def test_albert() -> None:
    model = AlbertForSequenceClassification(
        AlbertConfig(vocab_size=60, embedding_size=16, hidden_size=32, num_attention_heads=4)
    )
    assert_refused(model, Connection(), r"ALBERT uses one layer again and again.*such as BERT")


def test_an_unknown_family() -> None:
    settings = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    model = transformers.ViTForImageClassification(transformers.ViTConfig(**settings))
    assert_refused(model, Connection(), r"type 'vit' are not supported yet; supported are bert, ")


@pytest.mark.parametrize("layers", ["4", "2-4", "0", "none", "3-2", (7,)])
def test_layers_that_do_not_exist(layers: str | tuple[int, ...]) -> None:
    assert_refused(classifier("bert"), Connection(layers=layers), "[Ll]ayer")


def test_layers_beyond_both_stacks_of_an_encoder_decoder() -> None:
    assert_refused(classifier("t5"), Connection(layers="5-7"), "Layer 7 does not.*layers 1 to 6")


@pytest.mark.parametrize("attention", ["sdpa", "flash_attention_2"])
def test_second_order_through_fused_attention(attention: str) -> None:
    model = classifier("bert", attention="sdpa")
    model.config._attn_implementation = attention
    second_order = replace(im_bert, gradient=Unrolled())
    assert_refused(model, second_order, f'the {attention} kernels.*attn_implementation="eager"')


def test_attention_that_hides_its_mask() -> None:
    model = classifier("bert", attention="sdpa")
    model.config._attn_implementation = "flex_attention"
    assert_refused(model, Connection(), 'flex_attention.*attn_implementation="sdpa"')


@pytest.mark.parametrize("part", ["the model", "its body"])
def test_connecting_twice(part: str) -> None:
    model, inputs = classifier("bert"), batch((7, 12))
    handle = connect(model, Connection(layers="2", scheme=Explicit()))
    wanted, before = model(**inputs).logits, traces(model)
    again = model if part == "the model" else model.base_model
    with pytest.raises(InputError, match=r"connected already; call \.remove\(\)"):
        connect(again, Connection(layers="3", scheme=Explicit()))
    assert traces(model) == before
    assert connected(model) is handle
    assert torch.equal(model(**inputs).logits, wanted)
    handle.remove()
    connect(model, Connection(layers="3", scheme=Explicit()))


def test_descent_under_inference_mode() -> None:
    model, inputs = classifier("bert"), batch((7, 12))
    connect(model, im_bert)
    with torch.inference_mode(), pytest.raises(InputError, match=r"torch\.no_grad\(\)"):
        model(**inputs)
    with torch.no_grad():  # and nothing is broken by having tried
        assert bool(model(**inputs).logits.isfinite().all())


def language_model(family: str) -> PreTrainedModel:
    torch.manual_seed(0)
    prefix = {"gpt2": "GPT2LMHeadModel"}.get(family, f"{family.capitalize()}ForCausalLM")
    model = getattr(transformers, prefix)(config(family)).eval()
    enliven(model, 0.5)
    return model


def generate(model: PreTrainedModel, **changes: Any) -> list[int]:
    settings = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": PAD} | changes
    inputs = {key: value[:, :-1] for key, value in batch((6,)).items()}
    return model.generate(**inputs, **settings)[0].tolist()


@pytest.mark.parametrize("family", DECODERS)
def test_generation_with_a_cache(family: str) -> None:
    model = language_model(family)
    plain = generate(model)
    assert plain == generate(model, use_cache=False)
    handle = connect(model, replace(recommended, on_failure="keep"))
    with pytest.raises(InputError, match=r"key-value cache.*with use_cache=False"):
        generate(model)
    assert len(generate(model, use_cache=False)) == len(plain)
    handle.remove()
    assert generate(model) == plain


@pytest.mark.parametrize("family", DECODERS)
def test_a_cache_asked_for_by_name(family: str) -> None:
    model, inputs = classifier(family), batch((7, 12))
    connect(model, replace(recommended, on_failure="keep"))
    assert model(**inputs).past_key_values is None
    with pytest.raises(InputError, match="key-value cache"):
        model(**inputs, use_cache=True)
    with pytest.raises(InputError, match="key-value cache"):
        model.base_model(**inputs, use_cache=True)


@pytest.mark.parametrize("family", DECODERS)
def test_a_scheme_without_a_solve_may_use_a_cache(family: str) -> None:
    model = language_model(family)
    with connect(model, Connection(scheme=Explicit())):
        assert generate(model) == generate(model, use_cache=False)


HOPELESS = Anderson(max_steps=1, tolerance=1e-9)


def test_failure_may_stop_the_run() -> None:
    model, inputs = classifier("bert"), batch((7, 12))
    handle = connect(model, Connection(scheme=Theta(), solver=HOPELESS, on_failure="raise"))
    with pytest.raises(RunFailed, match=r"Layer 1 was left at a relative residual of 0\.\d+ by"):
        model(**inputs)
    assert handle.readings()[0].converged == 0.0


def test_failure_may_be_warned_of_once_a_layer() -> None:
    model, inputs = classifier("bert"), batch((7, 12))
    connect(model, Connection(scheme=Theta(), solver=HOPELESS, on_failure="warn"))
    with pytest.warns(UserWarning, match="allow more steps") as told:
        model(**inputs)
    assert [str(one.message)[:8] for one in told] == ["Layer 1 ", "Layer 2 ", "Layer 3 "]
    model(**inputs)  # warnings are errors in these tests


@pytest.mark.filterwarnings("error")
def test_failure_may_be_kept_quiet() -> None:
    model = classifier("bert")
    connect(model, Connection(scheme=Theta(), solver=HOPELESS, on_failure="keep"))
    assert bool(model(**batch((7, 12))).logits.isfinite().all())


def test_an_error_inside_a_with_block_removes_the_connection() -> None:
    model = classifier("bert")

    def fail() -> None:
        with connect(model, Connection()):
            raise KeyError("something else")

    with pytest.raises(KeyError):
        fail()
    assert traces(model) == []


def test_a_model_on_several_devices_is_refused() -> None:
    model = classifier("bert")
    model.hf_device_map = {"bert": 0, "classifier": 1}
    assert_refused(model, recommended, "spread over 2 devices")


def test_a_number_is_no_name_of_layers() -> None:
    assert_refused(classifier("bert"), replace(recommended, layers=2), "The layers are 2; write")


def test_numbers_that_are_not_finite_are_not_blamed_on_the_solver() -> None:
    model = classifier("bert")
    connect(model, replace(recommended, layers="1", on_failure="raise"))
    with torch.no_grad():
        model.bert.encoder.layer[0].output.dense.weight[0, 0] = float("nan")
        with pytest.raises(RunFailed, match="not finite; look at the weights"):
            model(**batch((5,)))
