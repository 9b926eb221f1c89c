"""Each search on a bag of words, whose best attack is known by hand, and beside a naive one."""

import dataclasses
import json
from pathlib import Path

import attack_naive as naive
import numpy as np
import pytest
import torch
from attack_bag import LEXICON, BagOfWords, bag, examples

from holdfast.attack import (
    Attack,
    Neighbours,
    ScoreDecrease,
    Targeted,
    read_allowed_sets,
    recipes,
    run_attack,
    verify,
)
from holdfast.attack.constraint import ModificationRate
from holdfast.attack.search import PWWS, Beam, Genetic, RandomSearch
from holdfast.attack.search.best import best_of_each
from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.victim import FunctionVictim

RECIPES = (recipes.pwws_rift, recipes.genetic_jia, recipes.beam, recipes.random_search)
TEXTS = (
    "a great film with a dull plot",
    "good good film , dull story",
    "great great great film",
    "the plot was good",
    "nothing to replace here",
    "dull",
    "a good film about a film , no story",
)


def one(attack: Attack, text: str, victim: FunctionVictim | None = None, label: int = 1):
    (outcome,) = run_attack(attack, victim or bag(), examples(text, label=label), seed=0)
    return outcome


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_only_word_that_flips_is_found(recipe) -> None:
    # "great" carries the sentence: 2 - 1.9 > 0; only "fine" (0.5) is low enough
    victim = FunctionVictim(BagOfWords(bias=-0.9))
    outcome = one(recipe(LEXICON), "a great plot", victim)
    assert outcome.status == "succeeded"
    assert [(c.old, c.new) for c in outcome.changes if c.old == "great"] == [("great", "fine")]
    assert outcome.adversarial_prediction == 0


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_cannot_be_flipped_fails(recipe) -> None:
    outcome = one(recipe(LEXICON), "great great great film")
    assert (outcome.status, outcome.adversarial, outcome.changes) == ("failed", None, ())
    assert outcome.survived


@pytest.mark.parametrize("recipe", RECIPES)
def test_wrong_and_frozen_examples_are_told_apart(recipe) -> None:
    assert one(recipe(LEXICON), "a dull film").status == "skipped"
    assert one(recipe(LEXICON), "nothing to see", label=0).status == "untouched"


def test_pwws_goes_by_saliency_times_gain() -> None:
    # Gains: great->fine 1.5, good->fine .5 (okay: 1.0). The first flips; one change suffices.
    victim = FunctionVictim(BagOfWords(bias=-2.0))
    outcome = one(recipes.pwws_rift(LEXICON), "great and good", victim)
    assert [(c.old, c.new) for c in outcome.changes] == [("great", "fine")]
    # 1 original, 3 hidden words, 2 + 3 substitutes, 1 step
    assert outcome.queries == 1 + 3 + 5 + 1


def test_pwws_of_rift_leaves_capitalised_words() -> None:
    assert one(recipes.pwws_rift(LEXICON), "Great").status == "untouched"
    assert one(recipes.beam(LEXICON), "Good").status == "failed"


def test_capitals_are_carried_over() -> None:
    victim = FunctionVictim(BagOfWords(bias=-1.2))
    outcome = one(recipes.beam(LEXICON), "GREAT stuff", victim)
    assert outcome.adversarial == ("FINE stuff",)


@pytest.mark.parametrize("bias", [-0.5, 0.0, 0.8])
def test_pwws_is_the_naive_one(bias: float) -> None:
    attack, victim = recipes.pwws_rift(LEXICON), FunctionVictim(BagOfWords(bias=bias))
    for example, outcome in zip(examples(*TEXTS), in_order(attack, victim), strict=True):
        expected = naive.Naive(victim, attack, example).run(naive.pwws)
        assert summary(outcome) == expected


@pytest.mark.parametrize("bias", [-0.5, 0.0, 0.8])
def test_genetic_is_the_naive_one(bias: float) -> None:
    attack = dataclasses.replace(recipes.genetic_jia(LEXICON), search=Genetic(6, 5))
    victim = FunctionVictim(BagOfWords(bias=bias))
    search = naive.genetic(6, 5, seed=3)
    for example, outcome in zip(examples(*TEXTS), in_order(attack, victim, seed=3), strict=True):
        assert summary(outcome) == naive.Naive(victim, attack, example).run(search)


def in_order(attack: Attack, victim: FunctionVictim, seed: int = 0):
    outcomes = run_attack(attack, victim, examples(*TEXTS), seed=seed)
    return sorted(outcomes, key=lambda outcome: outcome.id)


def summary(outcome) -> tuple[str, str | None, int]:
    return outcome.status, outcome.adversarial and outcome.adversarial[0], outcome.queries


def test_genetic_never_looks_at_the_last_children() -> None:
    # Only two changes together flip; the first generation holds single ones.
    victim = FunctionVictim(BagOfWords(bias=-0.8))
    attack = dataclasses.replace(recipes.genetic_jia(LEXICON), search=Genetic(30, 1))
    assert one(attack, "good film good", victim).status == "failed"
    attack = dataclasses.replace(attack, search=Genetic(30, 2))
    assert one(attack, "good film good", victim).status == "succeeded"


@pytest.mark.parametrize("width", [1, 3])
def test_beam_finds_what_takes_two_words(width: int) -> None:
    # 1 + .3 - .2: without "good" .1 is left, without "film" .8, without both -.2
    victim = FunctionVictim(BagOfWords(bias=-0.2))
    outcome = one(recipes.beam(LEXICON, width=width), "good film", victim)
    assert outcome.adversarial == ("okay picture",)
    attack = dataclasses.replace(recipes.beam(LEXICON), search=Beam(width, max_changes=1))
    assert one(attack, "good film", victim).status == "failed"


def test_a_target_is_reached_or_not() -> None:
    class Three(BagOfWords):
        def one(self, text):
            negative, positive = super().one(text)
            return [0.8 * negative, positive, 0.2 * negative]

    victim = FunctionVictim(Three(bias=-0.9), classes=3)
    attack = recipes.beam(LEXICON)
    for target, status in ((0, "succeeded"), (2, "failed"), (1, "untouched")):
        aimed = dataclasses.replace(attack, goal=Targeted(target))
        assert one(aimed, "a great plot", victim).status == status


def test_a_lower_score_is_enough_if_that_is_the_goal() -> None:
    attack = dataclasses.replace(recipes.beam(LEXICON), goal=ScoreDecrease(below=0.7))
    outcome = one(attack, "a great plot")
    assert outcome.status == "succeeded"
    assert outcome.adversarial_prediction == 1
    assert outcome.adversarial_probabilities[1] < 0.7


def test_few_enough_words_are_changed() -> None:
    attack = dataclasses.replace(
        recipes.pwws_rift(LEXICON), text_constraints=(ModificationRate(0.25),)
    )
    victim = FunctionVictim(BagOfWords(bias=-1.2))
    assert one(recipes.pwws_rift(LEXICON), "good film good plot", victim).status == "succeeded"
    outcome = one(attack, "good film good plot", victim)
    assert outcome.status == "failed"


def test_a_limit_on_queries_ends_the_search() -> None:
    free = one(recipes.pwws_rift(LEXICON), "a good film")
    attack = dataclasses.replace(recipes.pwws_rift(LEXICON), max_queries=free.queries)
    assert one(attack, "a good film").status == free.status
    attack = dataclasses.replace(attack, max_queries=free.queries - 1)
    outcome = one(attack, "a good film")
    assert outcome.status == "failed"
    assert "limit" in outcome.note
    assert outcome.queries < free.queries


def test_what_fits_into_the_limit_is_asked() -> None:
    # the original, "story", "great" and "fine": the last one flips it, and "okay" is left out
    victim = FunctionVictim(BagOfWords(bias=-0.95))
    attack = dataclasses.replace(recipes.beam(LEXICON), max_queries=4)
    outcome = one(attack, "a good plot", victim)
    assert (outcome.status, outcome.queries) == ("succeeded", 4)
    assert outcome.adversarial == ("a fine plot",)
    assert one(recipes.beam(LEXICON), "a good plot", victim).queries == 5
    outcome = one(dataclasses.replace(attack, max_queries=3), "a good plot", victim)
    assert (outcome.status, outcome.queries) == ("failed", 3)
    assert "limit of 3" in outcome.note


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("most", [1, 2, 7, 20, 130])
def test_a_limit_is_used_and_never_passed(recipe, most: int) -> None:
    attack = dataclasses.replace(recipe(LEXICON), max_queries=most)
    for text in TEXTS:
        free, outcome = one(recipe(LEXICON), text), one(attack, text)
        assert outcome.queries <= min(most, free.queries)
        assert ("limit" in outcome.note) <= (outcome.status == "failed")
        # the worth of words is asked for all of them or not at all
        spent = outcome.queries == most or (recipe is recipes.pwws_rift and outcome.queries == 1)
        assert spent or (outcome.status, outcome.queries) == (free.status, free.queries)


def test_only_the_second_text_of_a_pair_changes() -> None:
    attack = recipes.beam(LEXICON)
    victim = FunctionVictim(BagOfWords(bias=-2.2))
    (outcome,) = run_attack(attack, victim, examples(("good plot", "a great film")), seed=0)
    assert {change.text for change in outcome.changes} == {1}
    assert outcome.adversarial[0] == "good plot"
    attack = dataclasses.replace(attack, moving=(0,))
    (outcome,) = run_attack(attack, victim, examples(("good plot", "a great film")), seed=0)
    assert {change.text for change in outcome.changes} <= {0}


def test_allowed_sets_are_found_by_the_letters_of_a_text(tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    sets = {"a great film , is n't it ?": {"1": ["good", "fine"], "2": ["film"], "6": ["this"]}}
    file.write_text(json.dumps(sets))
    allowed = read_allowed_sets(file)
    found = allowed.substitutes(Words.of("A GREAT film, isn't<br />it?"))
    assert found == [(), ("GOOD", "FINE"), (), (), (), ("this",)]  # "br" is a word to us
    attack = recipes.genetic_jia(allowed=allowed)
    victim = FunctionVictim(BagOfWords(bias=-1.7))
    assert one(attack, "A great film, isn't it?", victim).adversarial == ("A fine film, isn't it?",)
    assert one(attack, "A great film", victim).status == "untouched"


def test_an_attack_is_written_in_the_order_that_the_architecture_names() -> None:
    rate = ModificationRate(0.5)
    attack = Attack("x", PWWS(), Neighbours(LEXICON), (), (rate,), Targeted(0))
    assert (attack.text_constraints, attack.goal) == ((rate,), Targeted(0))


def test_a_plain_function_is_attacked_as_it_is() -> None:
    attack, function = recipes.pwws_rift(LEXICON), BagOfWords()
    texts = examples(*((text,) for text in TEXTS))
    bare = list(run_attack(attack, function, texts, seed=0))
    assert bare == list(run_attack(attack, FunctionVictim(function), texts, seed=0))
    assert verify(attack, function, bare, texts) == sum(one.status == "succeeded" for one in bare)
    with pytest.raises(InputError, match=r"reads no texts; give holdfast.victim.ModelVictim"):
        run_attack(attack, torch.nn.Linear(1, 1), texts, seed=0)
    with pytest.raises(InputError, match="A victim is a function"):
        run_attack(attack, "a model", texts, seed=0)


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"a b": ["c"]}', '{"a b": {"7": ["c"]}}', '{"a b": {"0": 3}}']
)
def test_broken_allowed_sets_are_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(content)
    with pytest.raises(InputError, match="allowed sets"):
        read_allowed_sets(file)


def test_the_best_of_each_group_is_the_first_of_equals() -> None:
    values = np.array([1.0, 3.0, 3.0, 0.0, 5.0, 5.0])
    groups = np.array([2, 2, 2, 4, 7, 7])
    assert best_of_each(values, groups).tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Genetic(population=1),
        lambda: Genetic(iterations=0),
        lambda: Beam(width=0),
        lambda: RandomSearch(tries=0),
        lambda: Neighbours(LEXICON, limit=0),
        lambda: ModificationRate(0.0),
        lambda: Targeted(-1),
        lambda: ScoreDecrease(1.5),
        lambda: Attack("x", PWWS(), Neighbours(LEXICON), moving=()),
        lambda: Attack("x", PWWS(), Neighbours(LEXICON), max_queries=0),
    ],
)
def test_settings_that_make_no_sense_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()


def test_an_unknown_attack_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean genetic_jia"):
        recipes.find_recipe("genetic_ja")
