"""`TextClassifier` answers as `holdfast predict` does, in the form of a transformers pipeline."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from train_tiny import model, tokenizer
from transformers import pipeline

from holdfast import InputError, TextClassifier
from holdfast.cli import main
from holdfast.implicit import save
from holdfast.text import CanonicalMap, Lexicon, Wording

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


def test_no_text_has_no_answer(plain: Path) -> None:
    assert TextClassifier.load(plain, device="cpu")([]) == []


@pytest.mark.parametrize("texts", [["fine", None], [("a", "b", "c")], [()]])
def test_what_is_no_text_is_named(plain: Path, texts: list) -> None:
    with pytest.raises(InputError, match=f"Text {len(texts) - 1} "):
        TextClassifier.load(plain, device="cpu")(texts)


def test_single_texts_and_pairs_are_not_mixed(plain: Path) -> None:
    with pytest.raises(InputError, match="cannot be mixed"):
        TextClassifier.load(plain, device="cpu")(["fine", ("a", "b")])
