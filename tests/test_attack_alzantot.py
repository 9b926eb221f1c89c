"""The genetic search of Alzantot et al., beside a naive one."""

import dataclasses

import attack_naive as naive
import numpy as np
import pytest
from attack_bag import LEXICON, BagOfWords, examples
from test_attack_greedy import TEXTS

from holdfast.attack import Attack, Neighbours, run_attack, verify
from holdfast.attack.constraint import ModificationRate
from holdfast.attack.run import example_rng
from holdfast.attack.search import Alzantot
from holdfast.errors import InputError
from holdfast.victim import FunctionVictim

ATTACK = Attack("alzantot", Alzantot(6, 5), Neighbours(LEXICON))


def alzantot(population: int, iterations: int, seed: int):
    """As released, with the goal of an untargeted attack; the dice are those of the search."""

    def search(naive: naive.Naive) -> list[str] | None:
        rng = example_rng(seed, naive.example.id)
        changeable = [at for at, choices in enumerate(naive.choices) if len(choices) > 1]

        def position(words: list[str], die: float) -> int:
            still = [at for at in changeable if words[at] == naive.words[at]] or changeable
            wheel = np.cumsum([len(naive.choices[at]) - 1 for at in still])
            return still[int(np.searchsorted(wheel, die * wheel[-1], side="right"))]

        def perturb(words: list[str], die: float) -> list[str]:
            at = position(words, die)
            best, least = words, naive.probability(words)
            for choice in naive.choices[at][1:]:
                attempt = [*words[:at], choice, *words[at + 1 :]]
                probability = naive.probability(attempt)
                if probability < least:
                    best, least = attempt, probability
            return best

        members = [perturb(naive.words, die) for die in rng.random(population)]
        for _ in range(iterations):
            answers = [naive.ask(words) for words in members]
            wanted = np.array([1 - np.exp(answer[naive.example.label]) for answer in answers])
            best = int(wanted.argmax())
            if answers[best][naive.example.label] < answers[best][1 - naive.example.label]:
                return members[best]
            wheel = np.cumsum(np.exp((wanted - wanted.max()) / 0.3))
            parents = rng.random((population - 1, 2)) * wheel[-1]
            coins = rng.random((population - 1, len(naive.words)))
            positions = rng.random(population - 1)
            children = []
            for child in range(population - 1):
                one, other = (members[int(np.searchsorted(wheel, d))] for d in parents[child])
                words = [
                    a if coin < 0.5 else b
                    for a, b, coin in zip(one, other, coins[child], strict=True)
                ]
                children.append(perturb(words, positions[child]))
            members = [members[best], *children]
        return None

    return search


@pytest.mark.parametrize("bias", [-0.5, 0.0, 0.8])
def test_it_is_the_naive_one(bias: float) -> None:
    victim, data = FunctionVictim(BagOfWords(bias=bias)), examples(*TEXTS)
    outcomes = sorted(run_attack(ATTACK, victim, data, seed=3), key=lambda outcome: outcome.id)
    for example, outcome in zip(data, outcomes, strict=True):
        found = outcome.status, outcome.adversarial and outcome.adversarial[0], outcome.queries
        assert found == naive.Naive(victim, ATTACK, example).run(alzantot(6, 5, seed=3))


def test_a_replacement_is_kept_only_if_it_helps() -> None:
    # "good" -> "great" is worse, "okay" is best; "dull" -> "slow" would undo the attack
    victim = FunctionVictim(BagOfWords(bias=2.1))
    (outcome,) = run_attack(ATTACK, victim, examples("good dull"), seed=0)
    assert outcome.status == "failed"
    victim = FunctionVictim(BagOfWords(bias=1.9))
    (outcome,) = run_attack(ATTACK, victim, examples("good dull"), seed=0)
    assert outcome.adversarial == ("okay dull",)


def test_children_over_the_limit_never_win() -> None:
    limited = dataclasses.replace(
        ATTACK, search=Alzantot(20, 10), text_constraints=(ModificationRate(0.25),)
    )
    victim = FunctionVictim(BagOfWords(bias=-1.2))
    data = examples("good film good plot", "great film good plot", "great great a b c d e f")
    outcomes = list(run_attack(limited, victim, data, seed=0))
    assert max(len(outcome.changes) for outcome in outcomes) <= 2
    assert {outcome.id: outcome.status for outcome in outcomes}["test:0"] == "failed"
    verify(limited, victim, outcomes, data)


@pytest.mark.parametrize("settings", [(1, 5, 0.3), (6, 0, 0.3), (6, 5, 0.0)])
def test_settings_that_make_no_sense_are_refused(settings: tuple[int, int, float]) -> None:
    with pytest.raises(InputError):
        Alzantot(*settings)
