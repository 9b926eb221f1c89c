"""Attack a classifier of your own: any function from texts to probabilities will do.

Runs in a second. For a Hugging Face checkpoint write `victim = holdfast.victim.load(folder)`.
"""

import math

from holdfast.attack import recipes, run_attack, summarise, verify
from holdfast.data import Example
from holdfast.text import lexicon_of, split_words
from holdfast.victim import FunctionVictim

WEIGHTS = {"great": 2.0, "charming": 1.5, "good": 1.0, "slow": -0.5, "dull": -2.0}
SYNONYMS = {
    "great": ["good", "fine"],
    "charming": ["lovely", "sweet"],
    "dull": ["slow", "dreary"],
    "film": ["movie", "picture"],
}
REVIEWS = [
    ("A great film, charming and never dull.", 1),
    ("Great cast, great story.", 1),
    ("A dull film.", 0),
    ("The plot is dull, the ending slow.", 0),
    ("Nothing to say about it.", 1),
]


def sentiment(texts: list[str]) -> list[list[float]]:
    """Return the probabilities of bad and good for each text: a bag of words."""
    answers = []
    for text in texts:
        score = 0.1 + sum(WEIGHTS.get(word.text.lower(), 0.0) for word in split_words(text))
        good = 1 / (1 + math.exp(-score))
        answers.append([1 - good, good])
    return answers


def main() -> None:
    """Attack the reviews, show what changed, and check it all again."""
    victim = FunctionVictim(sentiment, classes=2, name="bag of words")
    examples = [Example(f"review:{n}", (text,), label) for n, (text, label) in enumerate(REVIEWS)]
    attack = recipes.genetic_jia(lexicon_of(SYNONYMS, "a few synonyms"))
    outcomes = list(run_attack(attack, victim, examples, seed=0))
    for outcome in outcomes:
        changes = ", ".join(f"{change.old} -> {change.new}" for change in outcome.changes)
        print(f"{outcome.status:10} {outcome.texts[0]:42} {changes}")
    summary = summarise(outcomes)
    print(f"accuracy {summary.accuracy.value:.0%} before the attack, ", end="")
    print(f"{summary.accuracy_under_attack.value:.0%} after; {summary.queries} queries")
    if verify(attack, victim, outcomes, examples) != summary.success_rate.count:
        raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
