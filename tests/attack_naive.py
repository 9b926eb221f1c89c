"""The algorithms once more, one text at a time, as their papers print them: slow and plain."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from holdfast.attack import Attack
from holdfast.attack.run import example_rng
from holdfast.data import Example
from holdfast.text import Words
from holdfast.victim import FunctionVictim


@dataclass
class Naive:
    """One example under attack, written as a list of words."""

    victim: FunctionVictim
    attack: Attack
    example: Example
    queries: int = 0
    words: list[str] = field(default_factory=list)
    choices: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.text = Words.of(self.example.texts[0])
        self.words = [word.text for word in self.text.words]
        found = self.attack.transformation.substitutes(self.text)
        self.choices = [(word, *new) for word, new in zip(self.words, found, strict=True)]

    def ask(self, words: list[str]) -> np.ndarray:
        self.queries += 1
        text = str(self.text.replaced(dict(enumerate(words))))
        return self.victim.score([(text,)])[0]

    def probability(self, words: list[str]) -> float:
        return float(np.exp(self.ask(words)[self.example.label]))

    def margin(self, words: list[str]) -> float:
        answer = self.ask(words)
        return float(answer[self.example.label] - np.delete(answer, self.example.label).max())

    def run(self, search: "Callable[[Naive], list[str] | None]") -> tuple[str, str | None, int]:
        """Return the status, the adversarial text and the number of queries."""
        if int(self.ask(self.words).argmax()) != self.example.label:
            return "skipped", None, self.queries
        if all(len(choices) == 1 for choices in self.choices):
            return "untouched", None, self.queries
        found = search(self)
        if found is None:
            return "failed", None, self.queries
        return "succeeded", str(self.text.replaced(dict(enumerate(found)))), self.queries


def pwws(naive: Naive) -> list[str] | None:
    original = naive.words
    before = float(np.exp(naive.victim.score([naive.example.texts])[0][naive.example.label]))
    saliency = []
    for at in range(len(original)):
        hidden = [*original[:at], naive.attack.placeholder, *original[at + 1 :]]
        saliency.append(before - naive.probability(hidden))
    weights = np.exp(np.array(saliency) - max(saliency))
    weights /= weights.sum()
    plan = []
    for at, choices in enumerate(naive.choices):
        best, best_drop = None, -np.inf
        for choice in choices[1:]:
            drop = before - naive.probability([*original[:at], choice, *original[at + 1 :]])
            if drop > best_drop:
                best, best_drop = choice, drop
        if best is not None:
            plan.append((weights[at] * best_drop, at, best))
    current = list(original)
    for _, at, choice in sorted(plan, key=lambda step: -step[0]):
        current[at] = choice
        if naive.margin(current) < 0:
            return current
    return None


def genetic(population: int, iterations: int, seed: int) -> Callable[[Naive], list[str] | None]:
    def search(naive: Naive) -> list[str] | None:
        rng = example_rng(seed, naive.example.id)
        changeable = [at for at, choices in enumerate(naive.choices) if len(choices) > 1]

        def perturb(words: list[str], die: float) -> tuple[list[str], float]:
            at = changeable[int(die * len(changeable))]
            best, best_margin = words, np.inf
            for choice in naive.choices[at]:
                attempt = [*words[:at], choice, *words[at + 1 :]]
                margin = naive.margin(attempt)
                if margin < best_margin:
                    best, best_margin = attempt, margin
            return best, best_margin

        members = [perturb(naive.words, die) for die in rng.random(population)]
        for _ in range(iterations):
            best = min(members, key=lambda member: member[1])
            if best[1] < 0:
                return best[0]
            fitness = np.array([1 / (1 + np.exp(margin)) + 1e-6 for _, margin in members])
            wheel = np.cumsum(fitness) / fitness.sum()
            # the dice of one generation: two parents a child, a coin a word, a position a child
            parents = rng.random((population - 1, 2))
            coins = rng.random((population - 1, len(naive.words)))
            positions = rng.random(population - 1)
            children = []
            for child in range(population - 1):
                one, other = (
                    members[int(np.searchsorted(wheel, die))][0] for die in parents[child]
                )
                words = [
                    a if coin < 0.5 else b
                    for a, b, coin in zip(one, other, coins[child], strict=True)
                ]
                children.append(perturb(words, positions[child]))
            members = [best, *children]
        return None

    return search
