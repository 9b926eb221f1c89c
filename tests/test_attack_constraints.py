"""What the constraints let through, on texts and models small enough to say it beforehand."""

import dataclasses
import json
import math
from pathlib import Path

import attack_aids as aids
import numpy as np
import pytest
import torch
from attack_bag import LEXICON, BagOfWords, examples
from transformers import AutoModelForCausalLM, AutoTokenizer

from holdfast.attack import Comparison, Neighbours, Space, recipes, run_attack, verify
from holdfast.attack.constraint import (
    EditDistance,
    EmbeddingDistance,
    LanguageModel,
    PartOfSpeech,
    RepeatModification,
    SentenceSimilarity,
    StopWords,
)
from holdfast.attack.constraint.edit_distance import levenshtein
from holdfast.attack.constraint.sentence_similarity import angular
from holdfast.attack.encoding import log_likelihoods, sentence_vectors
from holdfast.attack.sources import ModelFolder, VectorFile, WordNetFolder
from holdfast.attack.vectors import VectorNeighbours
from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.victim import FunctionVictim, Place


def space(text: str, *choices: tuple[str, ...]) -> Space:
    words = Words.of(text)
    own = [(word.text, *more) for word, more in zip(words.words, choices, strict=True)]
    return Space((words,), tuple(Place(0, at) for at in range(len(words))), tuple(own))


def row(*choices: int) -> np.ndarray:
    return np.array(choices, dtype=np.int16)


def test_stop_words_stay_and_may_stand_for_others() -> None:
    text, found = Words.of("The film and more"), [("A",), ("movie", "very"), ("or",), ("less",)]
    assert StopWords().keep(text, found) == [(), ("movie", "very"), (), ()]
    listed = StopWords(("very", "film"), as_substitutes=False)
    assert listed.keep(text, found) == [("A",), (), ("or",), ("less",)]
    assert listed.keep(Words.of("the plot"), [("very",), ("very", "story")]) == [(), ("story",)]


def test_the_part_of_speech_is_kept(tmp_path: Path) -> None:
    wordnet = WordNetFolder.of(aids.write_dictionary(tmp_path))
    text, found = Words.of("they love the film"), [(), ("good", "run", "plot"), (), ("run", "love")]
    kept = PartOfSpeech(wordnet).keep(text, found)
    assert kept == [(), ("run",), (), ("run",)]  # after "the", run is a noun
    kept = PartOfSpeech(wordnet, swap_noun_and_verb=True).keep(text, found)
    assert kept == [(), ("run", "plot"), (), ("run", "love")]


def test_the_tagger_of_nltk_says_what_it_lacks(tmp_path: Path, monkeypatch) -> None:
    wordnet = WordNetFolder.of(aids.write_dictionary(tmp_path))
    monkeypatch.setattr("nltk.data.path", [])
    constraint = PartOfSpeech(wordnet, tagger="nltk")
    with pytest.raises(InputError, match="averaged_perceptron_tagger_eng"):
        constraint.keep(Words.of("a film"), [(), ("movie",)])


def test_vectors_bound_substitutes_and_give_them(tmp_path: Path) -> None:
    vectors = VectorFile.of(aids.write_vectors(tmp_path / "vectors.txt"))
    text, found = Words.of("Good film"), [("Fine", "bad", "odd"), ("fine",)]
    assert EmbeddingDistance(vectors, cosine=0.5).keep(text, found) == [("Fine",), ()]
    near = EmbeddingDistance(vectors, squared_distance=0.5, unknown="keep")
    assert near.keep(text, found) == [("Fine", "odd"), ()]
    assert EmbeddingDistance(vectors, squared_distance=2.0).keep(text, found)[0] == ("Fine", "bad")
    assert VectorNeighbours(vectors).substitutes(text) == [("Fine",), ()]
    assert VectorNeighbours(vectors, cosine=-1, limit=2).substitutes(text)[0] == ("Fine", "Bad")


@pytest.mark.parametrize("content", ["", "good 1 2\nbad 1\n", "good 1 x\n", "good 1 nan\n"])
def test_broken_vectors_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(content)
    with pytest.raises(InputError, match=r"vectors\.txt"):
        VectorNeighbours(VectorFile.of(tmp_path / "vectors.txt")).substitutes(Words.of("good"))


def test_a_likelihood_is_the_sum_over_the_tokens_of_a_text(tmp_path: Path) -> None:
    path = aids.causal(tmp_path)
    texts = ["the film was good", "a", "the bad bad movie was great, great"]
    found = log_likelihoods(ModelFolder.of(path), texts)
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(path),
        AutoTokenizer.from_pretrained(path),
    )
    for text, value in zip(texts, found, strict=True):
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]])
        logs = model(ids).logits.detach().log_softmax(2)[0]
        own = sum(logs[at, token] for at, token in enumerate(ids[0, 1:]))
        assert value == pytest.approx(float(own), abs=1e-3)


def test_the_language_model_judges_a_window_of_the_original(tmp_path: Path) -> None:
    model = ModelFolder.of(aids.causal(tmp_path))
    text = Words.of("the film was good, was a great movie")
    found = [(), (), (), ("great", "bad", "fine"), (), (), (), ()]
    windows = [f"was {word}, was" for word in ("good", *found[3])]
    scores = log_likelihoods(model, windows)
    falls = dict(zip(found[3], scores[0] - scores[1:], strict=True))
    middle = sorted(falls.values())[1]
    kept = LanguageModel(model, before=1, after=1, drop=float(middle) + 0.01).keep(text, found)
    assert set(kept[3]) == {word for word, fall in falls.items() if fall <= middle}
    best = LanguageModel(model, before=1, after=1, drop=None, best=1).keep(text, found)
    assert best[3] == (min(falls, key=falls.get),)
    assert LanguageModel(model).keep(text, [()] * 8) == [()] * 8


def test_models_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    text, found = Words.of("the film"), [(), ("movie",)]
    sees_all = ModelFolder.of(aids.masked(tmp_path / "masked"))
    with pytest.raises(InputError, match="words after a word"):
        LanguageModel(sees_all).keep(text, found)
    with pytest.raises(InputError, match="holds no model"):
        ModelFolder.of(tmp_path)
    pooled = aids.encoder(tmp_path / "encoder")
    (pooled / "1_Pooling").mkdir()
    settings = pooled / "1_Pooling" / "config.json"
    settings.write_text(json.dumps({"pooling_mode_cls_token": True}))
    with pytest.raises(InputError, match="mean over tokens"):
        sentence_vectors(ModelFolder.of(pooled), ["the film"])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return ModelFolder.of(aids.encoder(tmp_path_factory.mktemp("encoder")))


def similarity(encoder: ModelFolder, one: str, other: str) -> float:
    a, b = sentence_vectors(encoder, [one, other])
    return 1 - math.acos(min(1.0, float(a @ b))) / math.pi


def test_sentence_vectors_do_not_depend_on_their_company(encoder: ModelFolder) -> None:
    alone = sentence_vectors(encoder, ["the film was good"])
    among = sentence_vectors(encoder, ["bad", "the film was good", "a great great movie", "film"])
    assert (alone[0] == among[1]).all()


def test_similarity_is_that_of_the_window_around_the_change(encoder: ModelFolder) -> None:
    made = space("a film was good the movie", (), ("picture",), (), ("bad", "great"), (), ())
    reference = row(0, 1, 0, 0, 0, 0)
    rows = np.stack([row(0, 1, 0, 1, 0, 0), row(0, 1, 0, 2, 0, 0), reference])
    (verdict,) = SentenceSimilarity(encoder, window=3).judge([Comparison(made, rows, reference)])
    expected = [similarity(encoder, "was good the", f"was {word} the") for word in ("bad", "great")]
    assert verdict.similarity == pytest.approx([*expected, 1.0], abs=2e-5)
    bound = dataclasses.replace(
        SentenceSimilarity(encoder, window=3), threshold=max(expected) - 1e-4
    )
    (verdict,) = bound.judge([Comparison(made, rows, reference)])
    assert verdict.allowed.tolist() == [one > min(expected) for one in expected] + [True]


def test_whole_texts_are_compared_if_several_words_differ(encoder: ModelFolder) -> None:
    made = space("good film", ("bad",), ("movie",))
    constraint = SentenceSimilarity(encoder, threshold=1.0, window=2)
    (verdict,) = constraint.judge([Comparison(made, row(1, 1)[None], row(0, 0))])
    assert verdict.similarity[0] == pytest.approx(
        similarity(encoder, "good film", "bad movie"), abs=2e-5
    )
    assert not verdict.allowed[0]


def test_short_texts_are_free_and_have_a_similarity_all_the_same(encoder: ModelFolder) -> None:
    made = space("good film", ("bad",), ())
    comparison = Comparison(made, row(1, 0)[None], row(0, 0))
    strict = SentenceSimilarity(encoder, threshold=1.0)
    (verdict,) = strict.judge([comparison])
    assert verdict.allowed[0]
    assert verdict.similarity[0] < 1
    (verdict,) = dataclasses.replace(strict, skip_short=False).judge([comparison])
    assert not verdict.allowed[0]
    assert SentenceSimilarity(encoder).threshold == pytest.approx(0.840845, abs=1e-6)
    assert angular(0.0) == 0.5


def test_no_word_is_replaced_twice() -> None:
    made = space("good film", ("bad", "fine"), ("movie",))
    rows = np.stack([row(1, 1), row(2, 0), row(0, 0), row(1, 0)])
    (verdict,) = RepeatModification().judge([Comparison(made, rows, row(1, 0))])
    assert verdict.allowed.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("good", "good", 0), ("good", "godo", 2), ("", "ab", 2), ("ab", "b", 1)],
)
def test_edits_are_counted(one: str, other: str, edits: int) -> None:
    assert levenshtein(one, other) == edits
    made = space("film x", ("flim",), ("xy",))
    (verdict,) = EditDistance(2).judge(
        [Comparison(made, np.stack([row(1, 0), row(1, 1)]), row(0, 0))]
    )
    assert verdict.allowed.tolist() == [True, False]


def test_a_constraint_decides_about_an_attack(encoder: ModelFolder) -> None:
    attack = dataclasses.replace(
        recipes.beam(LEXICON), text_constraints=(SentenceSimilarity(encoder, against="original"),)
    )
    victim, data = FunctionVictim(BagOfWords(bias=-0.9)), examples("a great plot")
    (free,) = outcomes = list(run_attack(attack, victim, data, seed=0))
    assert free.status == "succeeded"
    assert verify(attack, victim, outcomes, data) == 1
    strict = SentenceSimilarity(encoder, threshold=1.0, skip_short=False, against="original")
    attack = dataclasses.replace(attack, text_constraints=(strict,))
    (outcome,) = run_attack(attack, victim, data, seed=0)
    assert outcome.status == "failed"
    assert outcome.forwards == 1  # what is not allowed is never run
    with pytest.raises(RuntimeError, match="SentenceSimilarity"):
        verify(attack, victim, [free], data)


@pytest.mark.parametrize(
    "make",
    [
        lambda model, vectors: SentenceSimilarity(model, threshold=2.0),
        lambda model, vectors: SentenceSimilarity(model, window=0),
        lambda model, vectors: LanguageModel(model, before=-1),
        lambda model, vectors: LanguageModel(model, best=0),
        lambda model, vectors: EmbeddingDistance(vectors),
        lambda model, vectors: VectorNeighbours(vectors, limit=0),
        lambda model, vectors: EditDistance(0),
        lambda model, vectors: VectorFile.of(Path("nowhere")),
        lambda model, vectors: Neighbours(LEXICON, limit=-1),
    ],
)
def test_settings_that_make_no_sense_are_refused(make) -> None:
    model, vectors = ModelFolder(Path("m"), "0"), VectorFile(Path("v"), "0")
    with pytest.raises(InputError):
        make(model, vectors)
