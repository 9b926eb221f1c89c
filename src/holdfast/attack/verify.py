"""Nobody is trusted: every outcome is checked again, from its texts alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.attack.certify import provable
from holdfast.attack.core import Attack, Comparison
from holdfast.attack.flight import leaves_alone
from holdfast.attack.goal import Goal
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.errors import RunFailed
from holdfast.record import Outcome
from holdfast.text import Words
from holdfast.victim import GivenVictim, Place, Row, Space, Victim, as_victim

_TOGETHER = 256
_DRAWN = 8  # texts to try a proof with
_ROUNDED = 1e-4  # outcomes have four digits


@contextmanager
def kept_aside(file: Path) -> Iterator[None]:
    """Move a file of outcomes that turn out not to hold, so that the next run attacks again."""
    try:
        yield
    except RunFailed as error:
        aside = file.with_suffix(".refused")
        file.replace(aside)
        raise RunFailed(f"{error} They were moved to {aside}.") from error


def verify(
    attack: Attack, victim: GivenVictim, outcomes: Iterable[Outcome], examples: Iterable[Example]
) -> int:
    """Return how many successes hold; raise `RunFailed` at the first outcome that does not.

    Whole texts go through the victim's tokenizer; nothing is spliced and nothing remembered. A
    constraint that compares with the text before the last step cannot be put to the final text.
    """
    victim = as_victim(victim)
    known = {example.id: example for example in examples}
    left, successes = dict(known), 0
    remaining = iter(outcomes)
    while block := list(islice(remaining, _TOGETHER)):
        for outcome in block:
            if left.pop(outcome.id, None) is None:
                raise _wrong(outcome, "there is no such example, or it came twice")
        _verify_block(attack, victim, block, known)
        successes += sum(outcome.status == "succeeded" for outcome in block)
    if left:
        raise RunFailed(f"{len(left)} examples have no outcome, such as {min(left)}; attack again.")
    return successes


def _wrong(outcome: Outcome, reason: str) -> RunFailed:
    return RunFailed(
        f"The outcome of example {outcome.id} ({outcome.status}) does not hold: {reason}; "
        "do not use these outcomes, attack again."
    )


def _verify_block(
    attack: Attack, victim: Victim, block: Sequence[Outcome], examples: Mapping[str, Example]
) -> None:
    texts = [tuple(map(Words.of, examples[outcome.id].texts)) for outcome in block]
    readings = victim.read(texts)
    won: list[tuple[Outcome, Space, Row]] = []
    proved: list[tuple[Outcome, Space]] = []
    for outcome, words, reading in zip(block, texts, readings, strict=True):
        space = build_space(attack, words, reading.visible)
        for reason in _contradictions(attack, outcome, space, examples[outcome.id]):
            raise _wrong(outcome, reason)
        if outcome.status == "succeeded":
            won.append((outcome, space, _row(outcome, space)))
        if outcome.status == "certain":
            if provable(attack, victim) is None:
                raise _wrong(outcome, "nothing can be proved of this attack on this victim")
            proved.append((outcome, space))
    _check_constraints(attack, won)
    check_unanswered(victim, [outcome for outcome in block if outcome.status == "unanswered"])
    check_originals(victim, [outcome for outcome in block if outcome.status != "unanswered"])
    check_flips(attack.goal, victim, [outcome for outcome, _, _ in won])
    _check_proved(victim, proved)


def _contradictions(
    attack: Attack, outcome: Outcome, space: Space, example: Example
) -> Iterator[str]:
    """Yield what the outcome says that cannot be."""
    if (outcome.texts, outcome.label) != (example.texts, example.label):
        yield "its texts or its label are not the example's"
    if outcome.words != len(space):
        yield f"it counts {outcome.words} words, and there are {len(space)}"
    if min(outcome.queries, outcome.forwards) < 1:
        yield "it was not asked about"
    searched = outcome.status != "certain"  # a proof may read more
    if searched and attack.max_queries is not None and outcome.queries > attack.max_queries:
        yield f"it took {outcome.queries} queries, and {attack.max_queries} were allowed"
    right = outcome.prediction == outcome.label
    if outcome.status != "unanswered" and right == (outcome.status == "skipped"):
        yield f"the victim's answer for the original was {outcome.prediction}"
    if (outcome.status == "succeeded") != (outcome.adversarial is not None):
        yield "only a success has adversarial texts"
    if outcome.status == "untouched" and not leaves_alone(attack, space, example.label):
        yield f"{len(space.changeable)} of its words may change"


def _row(outcome: Outcome, space: Space) -> Row:
    """Return the row of a success: allowed words in allowed places, and nothing else changed."""
    places = {place: at for at, place in enumerate(space.places)}
    row = space.original()
    for change in outcome.changes:
        at = places.get(Place(change.text, change.word))
        if at is None:
            raise _wrong(outcome, f"word {change.word} of text {change.text} may not change")
        if change.old != space.choices[at][0]:
            raise _wrong(outcome, f"{change.old!r} is not the word that stands there")
        if change.new not in space.choices[at][1:]:
            raise _wrong(outcome, f"{change.new!r} may not stand for {change.old!r}")
        row[at] = space.choices[at].index(change.new)
    if np.count_nonzero(row) != len(outcome.changes) or not outcome.changes:
        raise _wrong(outcome, "it changes no word, or one word twice")
    if space.spelt(row) != outcome.adversarial:
        raise _wrong(
            outcome, "its texts differ from the original in more than the changes it lists"
        )
    return row


def _check_constraints(attack: Attack, won: Sequence[tuple[Outcome, Space, Row]]) -> None:
    comparisons = [Comparison(space, row[None], space.original()) for _, space, row in won]
    for constraint in attack.text_constraints:
        if not constraint.against_original or not won:
            continue
        for (outcome, _, _), verdict in zip(won, constraint.judge(comparisons), strict=True):
            if not verdict.allowed.all():
                raise _wrong(outcome, f"{type(constraint).__name__} does not allow its texts")


def check_originals(victim: Victim, outcomes: Sequence[Outcome]) -> None:
    """Raise unless the victim says of each example what its outcome says it did."""
    answers = victim.score([outcome.texts for outcome in outcomes])
    for outcome, answer in zip(outcomes, answers, strict=True):
        if not _gives(answer, outcome.prediction, victim.noise):
            raise _wrong(outcome, f"the victim says {int(answer.argmax())} of the original")
        if not _near(answer, outcome.probabilities, victim.noise):
            raise _wrong(outcome, "the victim gives the original other probabilities")


def check_unanswered(victim: Victim, outcomes: Sequence[Outcome]) -> None:
    """Raise if the victim does answer for an example of which it is said that it did not.

    Where more than the original was asked, the outcome does not tell which text had no answer.
    """
    alone = [outcome for outcome in outcomes if outcome.forwards == 1]
    answers = victim.score([outcome.texts for outcome in alone]) if alone else ()
    for outcome, answer in zip(alone, answers, strict=True):
        if not np.isnan(answer).any():
            raise _wrong(outcome, f"the victim says {int(answer.argmax())} of the original")


def check_flips(goal: Goal, victim: Victim, outcomes: Sequence[Outcome]) -> None:
    """Raise unless each success reaches the goal."""
    answers = victim.score([outcome.adversarial or () for outcome in outcomes])
    for outcome, answer in zip(outcomes, answers, strict=True):
        # what misses the goal by less than the noise between machines did reach it on the other
        margin = float(goal.margin(answer[None], outcome.label)[0])
        if not margin < victim.noise:
            raise _wrong(outcome, f"the victim still says {int(answer.argmax())}")
        if not _gives(answer, outcome.adversarial_prediction, victim.noise):
            raise _wrong(outcome, f"the victim says {int(answer.argmax())} of its texts")
        if not _near(answer, outcome.adversarial_probabilities, victim.noise):
            raise _wrong(outcome, "the victim gives its texts other probabilities")


def _check_proved(victim: Victim, proved: Sequence[tuple[Outcome, Space]]) -> None:
    """Raise if one of a few texts, drawn at random, changes an answer that none should change."""
    rng = np.random.default_rng(0)
    drawn = [
        (outcome, space.spelt(row))
        for outcome, space in proved
        for row in rng.integers(0, space.sizes, (_DRAWN, len(space))).astype(np.int16)
    ]
    answers = victim.score([texts for _, texts in drawn])
    for (outcome, _), answer in zip(drawn, answers, strict=True):
        if not _gives(answer, outcome.label, victim.noise):
            raise _wrong(outcome, "another text of the attack changes the answer")


def _gives(answer: NDArray[np.float64], prediction: int | None, noise: float) -> bool:
    return prediction is not None and bool(answer[prediction] > answer.max() - noise)


def _near(answer: NDArray[np.float64], probabilities: Sequence[float], noise: float) -> bool:
    """Whether probabilities are those of an answer; the logs of others have none."""
    if not probabilities:
        return True
    within = np.expm1(noise) + _ROUNDED  # noise is that of logarithms, and no probability above 1
    given = np.array(probabilities)
    return given.shape == answer.shape and bool((abs(np.exp(answer) - given) <= within).all())
