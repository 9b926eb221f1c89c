"""Let TextAttack attack a Holdfast system, then read its log back, check it and sum it up.

Needs `pip install textattack`. For a checkpoint write `victim = holdfast.victim.load(folder)`, and
for a published attack `attack = TextFoolerJin2019.build(bridge.model_wrapper(victim))`.
"""

import math
import tempfile
from pathlib import Path

from textattack import Attack, AttackArgs, Attacker
from textattack.attack_results import SuccessfulAttackResult
from textattack.constraints.pre_transformation import RepeatModification
from textattack.datasets import Dataset
from textattack.goal_functions import UntargetedClassification
from textattack.search_methods import GreedyWordSwapWIR
from textattack.transformations import WordSwap

from holdfast.attack import bridge, read_outcomes, summarise
from holdfast.text import split_words
from holdfast.victim import FunctionVictim

WEIGHTS = {"great": 2.0, "good": 1.0, "dull": -2.0}
SYNONYMS = {"great": ["good", "fine"], "good": ["fine"], "dull": ["slow"]}
REVIEWS = [("A great film.", 1), ("A good, great film.", 1), ("The plot is dull.", 0)]


class Synonyms(WordSwap):
    """Swaps a word for one of its synonyms."""

    def _get_replacement_words(self, word: str) -> list[str]:
        return SYNONYMS.get(word.lower(), [])


def sentiment(texts: list[str]) -> list[list[float]]:
    """Return the probabilities of bad and good for each text: a bag of words."""
    scores = [sum(WEIGHTS.get(w.text.lower(), -0.1) for w in split_words(t)) for t in texts]
    return [[1 / (1 + math.exp(score)), 1 / (1 + math.exp(-score))] for score in scores]


def main() -> None:
    """Attack with TextAttack; verify and summarise with Holdfast."""
    victim = FunctionVictim(sentiment, classes=2, name="bag of words")
    goal = UntargetedClassification(bridge.model_wrapper(victim))
    attack = Attack(goal, [RepeatModification()], Synonyms(), GreedyWordSwapWIR())
    with tempfile.TemporaryDirectory() as folder:
        log, file = Path(folder, "log.csv"), Path(folder, "outcomes.jsonl")
        settings = AttackArgs(num_examples=len(REVIEWS), log_to_csv=str(log), silent=True)
        theirs = Attacker(attack, Dataset(REVIEWS), settings).attack_dataset()
        outcomes = bridge.read_textattack_log(log)
        bridge.write_outcomes(outcomes, file, attack="greedy synonyms", victim=victim.fingerprint)
        print(summarise(read_outcomes(file)).accuracy_under_attack)
    won = sum(isinstance(result, SuccessfulAttackResult) for result in theirs)
    if bridge.verify_answers(victim, outcomes) != won:
        raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
