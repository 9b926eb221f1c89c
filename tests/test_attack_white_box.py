"""Attacks that see gradients: what they measure is checked against the model itself."""

import dataclasses

import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from attack_bag import LEXICON, bag, examples
from attack_tiny import labelled, sentences, victim

from holdfast.adversary import look_up, run_on
from holdfast.attack import Neighbours, Targeted, Untargeted, recipes, run_attack, verify
from holdfast.attack.core import Attack, Look
from holdfast.attack.gauge import FirstOrder, HullWeights
from holdfast.attack.goal import Floats
from holdfast.attack.search import Corner, HotFlip
from holdfast.attack.spaces import build_space
from holdfast.errors import InputError
from holdfast.text import Words

HULL = dataclasses.replace(recipes.hull(kinds.LEXICON), search=Corner(steps=4, restarts=2))
ATTACKS = {"hotflip": recipes.hotflip(kinds.LEXICON), "hull": HULL}


def look(text: str | tuple[str, ...], row: list[int] | None = None, goal=None, **settings) -> Look:
    found = victim(kinds.wordpiece(), **settings)
    texts = tuple(map(Words.of, (text,) if isinstance(text, str) else text))
    attack = Attack("x", HotFlip(), Neighbours(kinds.LEXICON))
    (reading,) = found.read([texts])
    space = build_space(attack, texts, reading.visible)
    (opened,) = found.open([reading], [space])
    chosen = np.array(row or [0] * len(space), dtype=np.int16)
    return Look(found, opened, space, chosen, 1, goal or Untargeted())


def first_order(at: Look) -> Floats:
    (found,) = FirstOrder().measure([at])
    return found


def hull_weights(at: Look, *, steps: int, seed: int) -> Floats:
    (found,) = HullWeights(steps).measure([dataclasses.replace(at, seed=seed)])
    return found


def loss(at: Look, vectors: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return -run_on(at.victim.model, batch, vectors).logits.log_softmax(1)[0, at.label]


@pytest.mark.parametrize("row", [[0, 0, 0, 0], [0, 2, 0, 1]])
def test_the_first_order_is_the_slope_towards_the_other_word(row: list[int]) -> None:
    made = look("the film was good", row)
    merits = first_order(made)
    ids = made.victim.tokenise([made.space.spelt(made.row)])
    batch = {"input_ids": torch.tensor(ids), "attention_mask": torch.ones(1, len(ids[0])).long()}
    vectors = look_up(made.victim.model, batch["input_ids"]).detach().double()
    made.victim.model.double()
    word = made.space.choices[1].index("picture")
    other = look_up(made.victim.model, torch.tensor([[kinds.wordpiece().vocab["picture"]]]))[0, 0]
    step = torch.zeros_like(vectors)
    step[0, 2] = other - vectors[0, 2]
    with torch.no_grad():
        slope = (loss(made, vectors + 1e-5 * step, batch) - loss(made, vectors, batch)) / 1e-5
    assert merits[1, word] == pytest.approx(float(slope), abs=1e-3)
    assert (merits[np.arange(4), row] == 0).all()
    assert np.isneginf(merits[0, 1:]).all()  # "the" has no substitute


def test_a_target_has_the_opposite_slope() -> None:
    away = first_order(look("the film was good"))
    towards = first_order(look("the film was good", goal=Targeted(1)))
    assert np.allclose(away[1], -towards[1])


def test_what_the_model_does_not_read_has_no_merit() -> None:
    made = look("film good film good film good film good", max_length=8)
    merits = first_order(made)
    assert len(merits) == 6  # of 8 tokens two are special
    assert (np.abs(merits[:, 1]) > 0).all()
    # "okay" and "cinematograph" are several tokens: they push the last words out of the window
    pushed = first_order(dataclasses.replace(made, row=np.int16([3, 0, 0, 0, 0, 0])))
    assert (pushed[-1, :2] == 0).all()


@pytest.mark.parametrize("gauge", [FirstOrder(), HullWeights(steps=2)])
def test_without_a_gradient_no_choice_is_better_and_none_is_made_up(gauge) -> None:
    """Of words that share tokens no gradient can be told apart; positions differ in choices."""
    made = dataclasses.replace(look("the film was good"), opened=None)
    (merits,) = gauge.measure([made])
    sizes = made.space.sizes
    assert len(set(sizes)) > 1
    for at, size in enumerate(sizes):
        assert (merits[at, :size] == 0).all()
        assert np.isneginf(merits[at, size:]).all()


def test_pairs_keep_their_types() -> None:
    made = look(("a bad film", "the film was good"))
    assert np.isfinite(first_order(made)[1, 1])
    changed = dataclasses.replace(made, row=np.int16([0, 1, 0, 0]))
    assert not np.allclose(first_order(changed)[3], first_order(made)[3])


def test_hull_weights_are_those_of_an_ascent() -> None:
    made = look("the film was good")
    weights = hull_weights(made, steps=8, seed=1)
    assert (weights == hull_weights(made, steps=8, seed=1)).all()
    assert not np.allclose(weights[1], hull_weights(made, steps=8, seed=2)[1])
    assert np.where(np.isfinite(weights), weights, 0).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    spelt = made.space.choices[1]
    assert weights[1, spelt.index("cinematograph")] == 0  # several tokens
    assert weights[0, 0] == weights[2, 0] == 1

    def heavy(steps: int) -> float:
        return float(hull_weights(made, steps=steps, seed=1)[1].max())

    assert heavy(8) > heavy(1)


@pytest.mark.parametrize("name", ATTACKS)
def test_examples_fall_and_hold_under_verification(name: str) -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(7))
    outcomes = sorted(run_attack(ATTACKS[name], found, data, seed=0), key=lambda o: o.id)
    assert verify(ATTACKS[name], found, outcomes, data) >= 2
    few = run_attack(ATTACKS[name], found, data[::-1], seed=0, in_flight=2)
    assert sorted(few, key=lambda outcome: outcome.id) == outcomes


def test_hotflip_finds_what_a_greedy_search_over_all_words_finds() -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(15))
    greedy = {o.id: o for o in run_attack(recipes.beam(kinds.LEXICON, 1), found, data, seed=0)}
    exhaustive = dataclasses.replace(ATTACKS["hotflip"], search=HotFlip(tried=1000))
    for outcome in run_attack(exhaustive, found, data, seed=0):
        assert outcome.status == greedy[outcome.id].status
    cheap = dataclasses.replace(ATTACKS["hotflip"], search=HotFlip(tried=2))
    spent = sum(o.queries for o in run_attack(cheap, found, data, seed=0))
    assert spent < sum(outcome.queries for outcome in greedy.values())


@pytest.mark.parametrize("kind", ["byte-level BPE, trimmed", "unigram, prepended"])
@pytest.mark.parametrize("name", ATTACKS)
def test_other_tokenizers_and_hostile_texts(name: str, kind: str) -> None:
    found = victim(kinds.KINDS[kind](), max_length=16)
    data = examples("the film was good", "", "_film_ 'good' (film)/good-film", "film " * 40)
    for label in (0, 1):
        asked = [dataclasses.replace(example, label=label) for example in data]
        outcomes = list(run_attack(ATTACKS[name], found, asked, seed=0))
        assert len(outcomes) == len(data)
        verify(ATTACKS[name], found, outcomes, asked)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_victim_without_gradients_is_refused(name: str) -> None:
    attack = recipes.find_recipe(name)(LEXICON)
    with pytest.raises(InputError, match="gradient"):
        list(run_attack(attack, bag(), examples("a great film"), seed=0))


def test_the_model_is_left_as_it_was() -> None:
    made = look("the film was good")
    first_order(made)
    hull_weights(made, steps=2, seed=0)
    assert all(p.requires_grad and p.grad is None for p in made.victim.model.parameters())


@pytest.mark.parametrize(
    "make", [lambda: HotFlip(tried=0), lambda: Corner(steps=0), lambda: Corner(restarts=0)]
)
def test_settings_that_make_no_sense_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()
