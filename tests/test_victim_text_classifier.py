"""`TextClassifier` answers as `holdfast predict` does, in the form of a transformers pipeline."""

import json
from pathlib import Path

import attack_tiny
import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from train_tiny import model, tokenizer
from transformers import pipeline

from holdfast import InputError, TextClassifier
from holdfast.cli import main
from holdfast.errors import RunFailed
from holdfast.implicit import save
from holdfast.text import CanonicalMap, Lexicon, TextSettings, Wording
from holdfast.victim import ModelVictim, load

TEXTS = ["the film was great", "a dull and very cold story", "fine"]
LEXICON = Lexicon({"film": ("story",), "story": ("film",)}, "test", "")


def checkpoint(folder: Path) -> Path:
    classifier = model(seed=3)
    classifier.config.id2label = {0: "bad", 1: "good"}
    torch.nn.init.normal_(classifier.classifier.weight, std=3.0)
    save(classifier, folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("classifier") / "plain")


def test_a_plain_model_answers_as_the_pipeline_of_transformers(plain: Path) -> None:
    theirs = pipeline("text-classification", str(plain), device="cpu")(TEXTS)
    ours = TextClassifier.load(plain, device="cpu")(TEXTS)
    assert [answer["label"] for answer in ours] == [answer["label"] for answer in theirs]
    scores = [[answer["score"] for answer in answers] for answers in (ours, theirs)]
    assert np.allclose(*scores, atol=1e-4)
    assert len(set(scores[0])) == len(TEXTS)


def test_pairs_are_read_as_pairs(plain: Path) -> None:
    theirs = pipeline("text-classification", str(plain), device="cpu")
    classify, pair = TextClassifier.load(plain, device="cpu"), ("the film", "was great")
    (expected,) = [theirs({"text": pair[0], "text_pair": pair[1]})]
    assert classify(pair)[0]["score"] == pytest.approx(expected["score"], abs=1e-5)
    assert classify("the film was great")[0]["score"] != pytest.approx(expected["score"], abs=4e-5)


@pytest.mark.parametrize("trust", [1.0, 0.6])
def test_texts_are_read_as_in_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trust: float
) -> None:
    folder = checkpoint(tmp_path)
    made = CanonicalMap.fit(["film film story"], LEXICON, rounds=1, trust=trust)
    Wording(canonical=made).save(folder)
    texts = ["a story", "a film"]
    assert main(["predict", "--model", str(folder), *texts, "--json"]) == 0
    told = [json.loads(line)["probabilities"] for line in capsys.readouterr().out.splitlines()]
    found = TextClassifier.load(folder, device="cpu")
    assert found.labels == ("bad", "good")
    assert np.allclose(found.probabilities(texts), [list(of.values()) for of in told], atol=1e-4)
    same = np.allclose(*found.probabilities(texts), atol=1e-6)
    assert same == (trust == 1)  # one text in canonical form, two in their own words


def test_a_text_is_read_as_far_as_the_model_can(tmp_path: Path) -> None:
    long = kinds.wordpiece()
    long.model_max_length = 10**30  # as of many tokenizers: the model alone knows its limit
    attack_tiny.model(long, positions=700).save_pretrained(tmp_path)
    long.save_pretrained(tmp_path)
    texts = ["bad " * 600 + end for end in ("good", "film")]
    theirs = pipeline("text-classification", str(tmp_path), device="cpu")(texts)
    ours = TextClassifier.load(tmp_path, device="cpu")(texts)
    assert [one["label"] for one in ours] == [one["label"] for one in theirs]
    assert [one["score"] for one in ours] == pytest.approx(
        [one["score"] for one in theirs], abs=1e-5
    )
    assert ours[0]["score"] != pytest.approx(ours[1]["score"], abs=1e-4)
    assert load(tmp_path, device="cpu").max_length == 512  # an attack takes its time for each token


def test_answers_come_in_the_order_of_the_texts_whatever_shares_a_batch(plain: Path) -> None:
    texts = ["a dull and very cold story", "fine", "the film was great", "warm", "the dull cast"]
    classify = TextClassifier.load(plain, device="cpu", batch_size=2)
    alone = np.concatenate([classify.probabilities(text) for text in texts])
    assert np.allclose(classify.probabilities(texts), alone, atol=1e-6)
    assert len(np.unique(alone.round(5), axis=0)) == len(texts)
    with pytest.raises(InputError, match="batch_size"):
        TextClassifier(classify.system, batch_size=0)


def test_no_text_has_no_answer(plain: Path) -> None:
    assert TextClassifier.load(plain, device="cpu")([]) == []


@pytest.mark.parametrize("texts", [["fine", None], [("a", "b", "c")], [()]])
def test_what_is_no_text_is_named(plain: Path, texts: list) -> None:
    with pytest.raises(InputError, match=f"Text {len(texts) - 1} "):
        TextClassifier.load(plain, device="cpu")(texts)


@pytest.mark.parametrize(
    ("text", "words"),
    [("half \ud800", "surrogate"), (("fine", "half \ud800"), "surrogate"), (" ", "empty")],
)
def test_what_predict_refuses_to_read_is_refused_here(plain: Path, text, words: str) -> None:
    parts = [text] if isinstance(text, str) else [("fine", "dull"), text]
    with pytest.raises(InputError, match=f"Text {len(parts) - 1} .*{words}"):
        TextClassifier.load(plain, device="cpu")(parts)


@pytest.mark.parametrize(
    ("columns", "text", "words"),
    [
        (("review",), ("one text", "another"), r"single texts \(review\).* given pairs"),
        (("premise", "hypothesis"), "fine", r"pairs \(premise, hypothesis\).* given single texts"),
    ],
)
def test_texts_are_as_many_as_in_training(
    columns: tuple[str, ...], text, words: str, tmp_path: Path
) -> None:
    folder = checkpoint(tmp_path)
    assert TextClassifier.load(folder, device="cpu")(text)  # nothing is known of its training
    TextSettings(16, texts=columns).save(folder)
    with pytest.raises(InputError, match=words):
        TextClassifier.load(folder, device="cpu")(text)


def test_a_model_that_gives_numbers_has_no_labels_to_give(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, "problem_type": "regression"}))
    with pytest.raises(InputError, match=f"{folder.name} answers with a number"):
        TextClassifier.load(folder, device="cpu")


def test_an_answer_that_is_no_number_is_no_label() -> None:
    half = model().half()
    torch.nn.init.constant_(half.classifier.bias, 6e4)
    classify = TextClassifier(ModelVictim(half, tokenizer(), precision="fp16"))
    assert classify("fine")[0]["score"] == pytest.approx(0.5)
    torch.nn.init.constant_(half.classifier.bias, torch.inf)  # what is beyond 65504 in fp16
    with pytest.raises(RunFailed, match=r"'fine film' is no number.*fp16.*bf16 or fp32"):
        classify("fine film")


def test_single_texts_and_pairs_are_not_mixed(plain: Path) -> None:
    with pytest.raises(InputError, match="cannot be mixed"):
        TextClassifier.load(plain, device="cpu")(["fine", ("a", "b")])
