"""A model as a victim answers as the model does; what is no classifier is refused."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from attack_tiny import labelled, model, sentences, victim
from tokenizers import Tokenizer, processors
from transformers import CanineTokenizer, PreTrainedTokenizerFast

from holdfast.attack import recipes, run_attack, verify
from holdfast.errors import InputError
from holdfast.implicit import Connection, Theta, connect, save
from holdfast.text import CanonicalMap, TextSettings
from holdfast.victim import ModelVictim, load
from holdfast.victim.fingerprint import tokenizer_settings
from holdfast.victim.precision import Precision

TEXTS = [("the film was good", "a great movie"), ("bad", "the good, the bad"), ("film", "café")]


def direct(found: ModelVictim, text: tuple[str, ...]) -> np.ndarray:
    """The answer of the model alone, one text at a time."""
    encoded = found.tokenizer(*text, return_tensors="pt", truncation=True, max_length=64)
    named = {name: encoded[name] for name in found.tokenizer.model_input_names if name in encoded}
    with torch.no_grad():
        return found.model(**named).logits.log_softmax(-1)[0].numpy()


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level BPE, trimmed", "unigram"])
@pytest.mark.parametrize("parts", [1, 2])
def test_scores_are_the_models(kind: str, parts: int) -> None:
    found = victim(kinds.KINDS[kind]())
    texts = [text[:parts] for text in TEXTS]
    expected = np.stack([direct(found, text) for text in texts])
    assert np.allclose(found.score(texts), expected, atol=1e-4)
    assert len(np.unique(expected, axis=0)) == 3


def test_padding_changes_nothing() -> None:
    found = victim(kinds.wordpiece())
    shape = type(found.shape)(64, 256, 8, found.shape.padding)
    exact = found.score([text[:1] for text in TEXTS])
    found.shape = shape
    assert np.allclose(found.score([text[:1] for text in TEXTS]), exact, atol=2e-5)


def test_a_connected_checkpoint_is_attacked_as_it_is(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    plain = model(tokenizer)
    unconnected = ModelVictim(plain, tokenizer).score([text[:1] for text in TEXTS])
    connect(plain, Connection("2", Theta(0.5), on_failure="keep"))
    save(plain, tmp_path)
    tokenizer.save_pretrained(tmp_path)
    found = load(tmp_path, device="cpu")
    answers = found.score([text[:1] for text in TEXTS])
    assert np.allclose(answers, np.stack([direct(found, text[:1]) for text in TEXTS]), atol=1e-4)
    assert not np.allclose(answers, unconnected, atol=1e-3)
    data = labelled(found, sentences(6))
    attack = recipes.pwws_rift(kinds.LEXICON)
    assert verify(attack, found, run_attack(attack, found, data, seed=0), data) >= 0


def test_the_whole_system_is_loaded(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    model(tokenizer).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    plain = load(tmp_path, device="cpu")
    CanonicalMap({"film": "movie"}, "", 1).save(tmp_path)
    found = load(tmp_path, device="cpu")
    film, movie = found.score([("the film",), ("the movie",)])
    assert (film == movie).all()
    assert not (plain.score([("the film",)])[0] == movie).all()
    assert found.fingerprint != plain.fingerprint


def test_the_fingerprint_is_that_of_weights_and_settings() -> None:
    tokenizer = kinds.wordpiece()
    prints = {
        victim(tokenizer).fingerprint,
        victim(tokenizer, seed=1).fingerprint,
        victim(tokenizer, max_length=32).fingerprint,
        ModelVictim(model(tokenizer), tokenizer, precision="bf16").fingerprint,
    }
    assert len(prints) == 4
    assert victim(kinds.wordpiece()).fingerprint in prints


def with_ids_exchanged() -> PreTrainedTokenizerFast:
    """A tokenizer with the words of the others, two of which have each other's id."""
    known = kinds.wordpiece()
    told = json.loads(known.backend_tokenizer.to_str())
    words = told["model"]["vocab"]
    words["film"], words["bad"] = words["bad"], words["film"]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(told)),
        model_input_names=known.model_input_names,
        model_max_length=64,
        **known.special_tokens_map,
    )


def test_the_fingerprint_is_another_where_the_answers_are() -> None:
    tokenizer, left = kinds.wordpiece(), kinds.wordpiece()
    left.truncation_side = "left"
    plain = model(tokenizer)
    config = copy.deepcopy(plain.config)
    config.num_attention_heads = 4
    heads = type(plain)(config).eval()
    heads.load_state_dict(plain.state_dict())
    systems = [
        ModelVictim(plain, tokenizer),
        ModelVictim(plain, kinds.wordpiece(lowercase=False)),
        ModelVictim(plain, with_ids_exchanged()),
        ModelVictim(plain, left),
        ModelVictim(heads, tokenizer),
    ]
    text = ("The FILM was " + "good great " * 40,)
    assert len({tuple(found.score([text])[0]) for found in systems}) == len(systems)
    assert len({found.fingerprint for found in systems}) == len(systems)


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_fingerprint_is_the_same_when_loaded_and_in_use(kind: str, tmp_path: Path) -> None:
    tokenizer = kinds.KINDS[kind]()
    made = model(tokenizer)
    made.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    known = victim(kinds.KINDS[kind]()).fingerprint
    tokenizer("film", truncation=True, max_length=8, padding="max_length")
    used = ModelVictim(made, tokenizer)
    used.score([("a film",)])
    assert used.fingerprint == load(tmp_path, device="cpu").fingerprint == known


def test_the_fingerprint_leaves_names_and_places_out() -> None:
    known, named = model(kinds.wordpiece()), model(kinds.wordpiece())
    named.config.id2label = {0: "bad", 1: "good"}
    named.config.problem_type = "single_label_classification"
    named.config._name_or_path = "/somewhere"
    prints = {ModelVictim(one, kinds.wordpiece()).fingerprint for one in (known, named)}
    assert len(prints) == 1


def test_the_fingerprint_of_a_slow_tokenizer_lasts(tmp_path: Path) -> None:
    made = CanineTokenizer()
    made.save_pretrained(tmp_path)
    loaded = CanineTokenizer.from_pretrained(tmp_path)
    assert tokenizer_settings(loaded) == tokenizer_settings(made)
    other = CanineTokenizer(cls_token="x")
    assert tokenizer_settings(other) != tokenizer_settings(made)


def test_half_precision_is_near() -> None:
    tokenizer = kinds.wordpiece()
    half = ModelVictim(model(tokenizer), tokenizer, precision="bf16")
    texts = [text[:1] for text in TEXTS]
    full = victim(tokenizer).score(texts)
    assert np.abs(half.score(texts) - full).max() < 10 * half.noise
    assert not (half.score(texts) == full).all()


def test_all_in_half_precision_is_nearer() -> None:
    tokenizer = kinds.wordpiece()
    texts = [text[:1] for text in TEXTS]
    full = victim(tokenizer).score(texts)
    mixed = ModelVictim(model(tokenizer), tokenizer, precision="bf16").score(texts)
    half = ModelVictim(model(tokenizer).half(), tokenizer, precision="fp16")
    found = half.score(texts)
    assert not (found == full).all()
    assert np.abs(found - full).max() < half.noise
    assert np.abs(found - full).mean() < np.abs(mixed - full).mean()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_model_in_half_precision_is_not_taken_for_another(precision: Precision) -> None:
    tokenizer = kinds.wordpiece()
    with pytest.raises(InputError, match=rf"float16.*{precision}.*fp16 together"):
        ModelVictim(model(tokenizer).half(), tokenizer, precision=precision)
    with pytest.raises(InputError, match=r"float32.*fp16.*model\.half\(\)"):
        ModelVictim(model(tokenizer), tokenizer, precision="fp16")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_records_do_not_say_fp32_of_other_weights(dtype: torch.dtype, precision: Precision) -> None:
    name = str(dtype).removeprefix("torch.")
    with pytest.raises(InputError, match=rf"{name}.*{precision}.*float32.*model\.float\(\)"):
        ModelVictim(model(kinds.wordpiece()).to(dtype), kinds.wordpiece(), precision=precision)


def test_a_folder_is_loaded_in_half_precision(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    model(tokenizer).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    half = load(tmp_path, device="cpu", precision="fp16")
    data = labelled(half, sentences(6))
    attack = recipes.pwws_rift(kinds.LEXICON)
    assert verify(attack, half, run_attack(attack, half, data, seed=0), data) >= 0
    with pytest.raises(InputError, match="Gradients cannot be followed in fp16"):
        list(run_attack(recipes.hotflip(kinds.LEXICON), half, data, seed=0))


def test_a_connected_model_answers_in_half_precision(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    plain = model(tokenizer)
    connect(plain, Connection("2", Theta(0.5), on_failure="keep"))
    save(plain, tmp_path)
    tokenizer.save_pretrained(tmp_path)
    texts = [text[:1] for text in TEXTS]
    full, half = (load(tmp_path, device="cpu", precision=p) for p in ("fp32", "fp16"))
    assert np.abs(half.score(texts) - full.score(texts)).max() < half.noise


class Slow(PreTrainedTokenizerFast):
    """Claims not to know which characters a token stands for."""

    is_fast = False


def test_a_slow_tokenizer_is_asked_for_every_text() -> None:
    fast = kinds.wordpiece()
    slow = Slow(
        tokenizer_object=fast.backend_tokenizer,
        model_input_names=fast.model_input_names,
        model_max_length=64,
        **{name: str(token) for name, token in fast.special_tokens_map.items()},
    )
    found, quick = victim(slow), victim(fast)
    data = labelled(quick, sentences(6))
    attack = recipes.pwws_rift(kinds.LEXICON)
    by_text, by_splice = (
        sorted(run_attack(attack, v, data, seed=0), key=lambda o: o.id) for v in (found, quick)
    )
    assert [(o.status, o.adversarial) for o in by_text] == [
        (o.status, o.adversarial) for o in by_splice
    ]


@pytest.mark.parametrize(
    ("change", "answers"),
    [
        ({"num_labels": 1}, "a number"),
        ({"problem_type": "regression"}, "a number"),
        ({"problem_type": "multi_label_classification"}, "several labels at once"),
    ],
)
def test_only_single_label_classifiers_are_taken(change: dict, answers: str) -> None:
    tokenizer = kinds.wordpiece()
    made = model(tokenizer)
    for name, value in change.items():
        setattr(made.config, name, value)
    with pytest.raises(InputError, match=f"answers with {answers}"):
        ModelVictim(made, tokenizer)


@pytest.mark.parametrize("length", [65, 10_000])
def test_a_length_the_model_cannot_have_is_refused(length: int) -> None:
    with pytest.raises(InputError, match="at most 64"):
        victim(kinds.wordpiece(), max_length=length)


def test_a_length_that_leaves_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="ask for 3 or more"):
        victim(kinds.wordpiece(), max_length=2)
    short = victim(kinds.wordpiece(), max_length=4)
    assert short.tokenise([("film film film",)]) == short.tokenise([("film film",)])
    with pytest.raises(InputError, match="ask for 5 or more"):
        short.score([("film", "film")])


def test_a_text_is_read_as_far_as_the_model_can_whatever_it_was_trained_for(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    model(tokenizer).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    TextSettings(48).save(tmp_path)
    assert load(tmp_path, device="cpu").max_length == 48
    TextSettings(4096).save(tmp_path)  # of texts that were all short
    assert load(tmp_path, device="cpu").max_length == 64


def test_a_single_text_has_the_token_types_of_its_tokenizer() -> None:
    tokenizer = kinds.wordpiece()  # as Funnel's, whose first token has a type of its own
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:1 $A:0 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    found = victim(tokenizer)
    texts = [text[:1] for text in TEXTS]
    expected = np.stack([direct(found, text) for text in texts])
    assert np.allclose(found.score(texts), expected, atol=1e-4)
    assert not np.allclose(found.score(texts), victim(kinds.wordpiece()).score(texts), atol=1e-3)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    model(kinds.wordpiece()).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="tokenizer"):
        load(tmp_path)
