"""How far hidden states move: against the states that transformers itself returns."""

import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from attack_bag import bag
from attack_tiny import labelled, sentences, victim

from holdfast.attack import Attack, Neighbours, Outcome, recipes, run_attack
from holdfast.evaluate.cost import model_inputs
from holdfast.evaluate.stability import FIRST, _at_random, moves
from holdfast.implicit import Connection, Explicit, connect
from holdfast.record import Series
from holdfast.text import lexicon_of, split_words
from holdfast.victim import ModelVictim

ATTACK = recipes.beam(kinds.LEXICON, 1)


@pytest.fixture(scope="module")
def tiny() -> ModelVictim:
    return victim(kinds.wordpiece())


@pytest.fixture(scope="module")
def outcomes(tiny: ModelVictim) -> list[Outcome]:
    found = list(run_attack(ATTACK, tiny, labelled(tiny, sentences(20)), seed=0))
    assert sum(outcome.status == "succeeded" for outcome in found) >= 3
    assert any(outcome.status == "failed" for outcome in found)
    return found


def states(of: ModelVictim, text: tuple[str, ...]) -> torch.Tensor:
    """(layers + 1, tokens, hidden), of one text without padding."""
    with torch.no_grad():
        out = of.model(**model_inputs(of, [text]), output_hidden_states=True)
    return torch.stack(out.hidden_states).squeeze(1)


def test_the_move_is_that_of_the_states_a_model_returns(
    tiny: ModelVictim, outcomes: list[Outcome]
) -> None:
    won = [outcome for outcome in outcomes if outcome.status == "succeeded"]
    means, firsts = [], []
    for outcome in won:
        before, after = states(tiny, outcome.texts), states(tiny, outcome.adversarial or ())
        for found, one, other in (
            (means, before.mean(1), after.mean(1)),
            (firsts, before[:, 0], after[:, 0]),
        ):
            found.append((one - other).norm(dim=1) / one.norm(dim=1))
    attack, random, first, _ = moves(tiny, outcomes, ATTACK, seed=0)
    assert attack == Series("moved_attack", (0.0, 1.0, 2.0), attack.y)
    assert attack.y == pytest.approx(torch.stack(means).mean(0).tolist(), rel=1e-4)
    assert first.group == FIRST
    assert first.y == pytest.approx(torch.stack(firsts).mean(0).tolist(), rel=1e-4)
    assert (random.name, random.x) == ("moved_random", attack.x)
    assert random.y != attack.y


def test_as_many_words_are_drawn_as_the_attack_changed(
    tiny: ModelVictim, outcomes: list[Outcome]
) -> None:
    won = [outcome for outcome in outcomes if outcome.status == "succeeded"]
    drawn = _at_random(tiny, won, ATTACK, seed=0)
    for outcome, (text,) in zip(won, drawn, strict=True):
        before, after = (split_words(of) for of in (outcome.texts[0], text))
        pairs = zip(before, after, strict=True)
        changed = [(one.text, other.text) for one, other in pairs if one.text != other.text]
        assert len(changed) == len(outcome.changes)
        for old, new in changed:
            assert new.lower() in [w.lower() for w in kinds.LEXICON.of(old)]
    assert drawn == _at_random(tiny, won, ATTACK, seed=0)
    others = [_at_random(tiny, won, ATTACK, seed=seed) for seed in (1, 2, 3)]
    assert any(other != drawn for other in others)


def test_only_so_many_successes_are_looked_at(tiny: ModelVictim, outcomes: list[Outcome]) -> None:
    first = next(outcome for outcome in outcomes if outcome.status == "succeeded")
    assert moves(tiny, outcomes, ATTACK, seed=0, most=1) == moves(tiny, [first], ATTACK, seed=0)


def test_a_text_of_one_choice_moves_as_far_at_random() -> None:
    """Where the attack has no choice, neither has chance."""
    one = Attack("x", ATTACK.search, Neighbours(lexicon_of({"film": ["movie"]}, "made here")))
    tiny = victim(kinds.wordpiece())
    changed = Outcome(
        "test:0", ("a film",), 1, "succeeded", 1, adversarial=("a movie",), changes=((0, 1),)
    )
    attack, random, *_ = moves(tiny, [changed], one, seed=0)
    assert attack.y == random.y
    assert attack.y[0] > 0


def test_the_connection_of_the_model_counts_and_stays(outcomes: list[Outcome]) -> None:
    plain, explicit = victim(kinds.wordpiece()), victim(kinds.wordpiece())
    connect(explicit.model, Connection(scheme=Explicit()))
    before = explicit.score([("the film was good",)])
    of_plain, of_explicit = (moves(v, outcomes, ATTACK, seed=0)[0] for v in (plain, explicit))
    assert of_plain.y[0] == of_explicit.y[0]
    assert abs(of_plain.y[2] - of_explicit.y[2]) > 1e-3
    assert np.array_equal(before, explicit.score([("the film was good",)]))


def test_nothing_moves_without_a_success_or_a_model(
    tiny: ModelVictim, outcomes: list[Outcome]
) -> None:
    lost = [outcome for outcome in outcomes if outcome.status != "succeeded"]
    assert moves(tiny, lost, ATTACK, seed=0) == ()
    assert moves(bag(), outcomes, ATTACK, seed=0) == ()
