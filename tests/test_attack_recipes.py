"""The attacks by name: what they are made of, that each of them runs, and what they refuse."""

import inspect
import json
from pathlib import Path

import attack_aids as aids
import pytest
import text_tokenizers as kinds
import torch
from attack_bag import LEXICON, BagOfWords, examples
from attack_tiny import labelled, sentences, victim
from transformers import AutoModelForMaskedLM

from holdfast.attack import Attack, describe, recipes, run_attack, verify
from holdfast.attack.constraint import LanguageModel, SentenceSimilarity
from holdfast.attack.encoding import Gap, likely_tokens
from holdfast.attack.masked_words import MaskedWords
from holdfast.attack.sources import ModelFolder
from holdfast.attack.vectors import VectorNeighbours
from holdfast.errors import InputError
from holdfast.text import Words, lexicon_of
from holdfast.victim import FunctionVictim


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("aids")
    aids.write_dictionary(root / "wordnet")
    aids.write_vectors(root / "vectors.txt")
    aids.encoder(root / "encoder")
    aids.masked(root / "masked_model")
    aids.causal(root / "language_model")
    return root


def made(name: str, folder: Path, **given) -> Attack:
    """The recipe with all that it takes."""
    recipe = recipes.find_recipe(name)
    takes = inspect.signature(recipe).parameters
    known = {"lexicon": kinds.LEXICON, "vectors": folder / "vectors.txt"} | {
        aid: folder / aid for aid in ("wordnet", "encoder", "masked_model", "language_model")
    }
    return recipe(**({key: value for key, value in known.items() if key in takes} | given))


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_recipe_attacks_a_model_and_is_verified(name: str, folder: Path) -> None:
    attack, found = made(name, folder), victim(kinds.wordpiece())
    assert attack.name == name
    data = labelled(found, sentences(5))
    outcomes = sorted(run_attack(attack, found, data, seed=0), key=lambda outcome: outcome.id)
    verify(attack, found, outcomes, data)
    alone = run_attack(attack, found, data, seed=0, in_flight=1)
    assert sorted(alone, key=lambda outcome: outcome.id) == outcomes


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_a_recipe_is_told_without_the_paths_of_this_machine(name: str, folder: Path) -> None:
    told = json.dumps(describe(made(name, folder)))
    assert str(folder) not in told
    assert len(told) < 6000
    assert recipes.find_recipe(name).__doc__


def test_the_attacker_who_reaches_further_has_the_words_of_the_words() -> None:
    lexicon = lexicon_of({"good": ["nice"], "nice": ["pleasant"]}, "here")
    text = Words.of("good")
    (near,), (far,) = (
        recipe(lexicon).transformation.substitutes(text)
        for recipe in (recipes.pwws_rift, recipes.pwws_further)
    )
    assert (near, far) == (("nice",), ("nice", "pleasant"))
    assert recipes.pwws_further(lexicon).search == recipes.pwws_rift(lexicon).search


def test_the_misspeller_who_tries_more_tries_what_the_other_does_too() -> None:
    text = Words.of("movie")
    (some,), (more,) = (
        recipe().transformation.substitutes(text)
        for recipe in (recipes.deepwordbug, recipes.deepwordbug_further)
    )
    assert (len(some), len(more)) == (4, 16)
    assert set(some) < set(more)
    assert recipes.deepwordbug_further().search == recipes.deepwordbug().search


def test_synonyms_of_wordnet_have_the_part_of_speech_of_the_word(folder: Path) -> None:
    attack = made("pwws_ren", folder)
    found = attack.transformation.substitutes(Words.of("They film the Film, they run well"))
    assert found == [(), ("shoot",), (), ("Movie", "Picture"), (), ("operate", "dash"), ("good",)]


def test_a_name_becomes_the_commonest_other_name_of_its_kind(folder: Path) -> None:
    names = {"PERSON": ["Smith", "Jones", "Film"], "GPE": ["Paris"]}
    (folder / "entities.json").write_text(json.dumps(names))
    attack = recipes.pwws_ren(folder / "wordnet", folder / "entities.json")
    found = attack.transformation.substitutes(Words.of("Jones and Smith Film Paris"))
    assert found == [("Smith",), (), ("Jones",), ("Smith", "Movie", "Picture"), ()]


@pytest.mark.parametrize("content", ["no", "[]", '{"PERSON": "Smith"}', '{"PERSON": [""]}'])
def test_what_are_no_entities_is_one_sentence(content: str, folder: Path) -> None:
    file = folder / f"entities{len(content)}.json"
    file.write_text(content)
    attack = recipes.pwws_ren(folder / "wordnet", file)
    with pytest.raises(InputError, match="holds no named entities"):
        attack.transformation.substitutes(Words.of("Jones"))


def test_textfooler_weighs_meaning_only_with_an_encoder(folder: Path) -> None:
    assert isinstance(made("textfooler", folder).transformation, VectorNeighbours)
    assert isinstance(made("textfooler", folder).text_constraints[0], SentenceSimilarity)
    bare = recipes.textfooler(LEXICON, wordnet=folder / "wordnet")
    assert bare.text_constraints == ()
    function = FunctionVictim(BagOfWords(bias=-0.9))
    (outcome,) = run_attack(bare, function, examples("a great plot , the film"), seed=0)
    # "good" and "fine" are adjectives; "fine" alone flips
    assert [(change.old, change.new) for change in outcome.changes] == [("great", "fine")]


def test_jia_and_alzantot_take_a_language_model(folder: Path) -> None:
    (judge,) = made("genetic_jia", folder).word_constraints
    assert (judge.before, judge.after, judge.drop) == (6, 6, 5.0)
    judge = made("genetic_alzantot", folder).word_constraints[-1]
    assert isinstance(judge, LanguageModel)
    assert (judge.before, judge.after, judge.drop, judge.best) == (1, 0, None, 4)
    assert recipes.genetic_jia(LEXICON).word_constraints == ()


@pytest.mark.parametrize("hidden", [True, False])
def test_masked_words_are_the_likeliest_of_the_model(hidden: bool, folder: Path) -> None:
    model = ModelFolder.of(folder / "masked_model")
    text = Words.of("the unknownword Film was good")
    found = MaskedWords(model, limit=20, masked=hidden).substitutes(text)
    assert found[1] == ()  # several tokens
    assert all(word[0].isupper() for word in found[2])
    assert "Film" not in found[2]
    tokenizer = kinds.wordpiece()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    ids = tokenizer(text.text)["input_ids"]
    at = ids.index(tokenizer.vocab["good"])
    gap = Gap((*ids[:at], tokenizer.mask_token_id if hidden else ids[at], *ids[at + 1 :]), at)
    (likely,) = likely_tokens(model, [gap], 20)
    with torch.no_grad():
        loaded = AutoModelForMaskedLM.from_pretrained(folder / "masked_model")
        logits = loaded(torch.tensor([gap.row])).logits[0, at]
    assert likely.tolist() == logits.topk(20).indices.tolist()
    words = [tokenizer.convert_ids_to_tokens(i) for i in likely.tolist()]
    expected = [w for w in words if w.isalnum() and w.lower() != "good"]
    assert list(found[4]) == expected


def test_without_words_the_masked_model_is_not_asked(folder: Path) -> None:
    words = MaskedWords(ModelFolder.of(folder / "masked_model"))
    assert words.substitutes(Words.of("?!")) == []
    assert len(words.substitutes(Words.of("film " * 200))) == 200


@pytest.mark.parametrize("name", ["bert_attack", "bae"])
def test_a_model_that_predicts_no_words_is_refused(name: str, folder: Path) -> None:
    with pytest.raises(InputError, match="needs a masked language model"):
        recipes.find_recipe(name)()
    attack = made(name, folder, masked_model=folder / "encoder")
    with pytest.raises(InputError, match="is not a masked language model"):
        list(run_attack(attack, victim(kinds.wordpiece()), examples("the film"), seed=0))


def test_the_attacks_of_the_papers_are_there() -> None:
    names = set(recipes.RECIPES)
    assert names >= {"textfooler", "pwws_ren", "deepwordbug", "textbugger", "genetic_alzantot"}
    assert names >= {"hotflip", "hull", "bae", "bert_attack", "beam", "pwws_rift", "genetic_jia"}
    with pytest.raises(InputError, match="did you mean textfooler"):
        recipes.find_recipe("text_fooler")
