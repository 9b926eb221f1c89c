"""Successes from elsewhere, put to a victim again: what it says decides, not the log."""

from collections.abc import Iterable
from itertools import islice

from holdfast.attack.goal import Goal, Untargeted
from holdfast.attack.verify import check_flips, check_originals
from holdfast.record import Outcome
from holdfast.victim import Victim

_TOGETHER = 256


def verify_answers(victim: Victim, outcomes: Iterable[Outcome], *, goal: Goal | None = None) -> int:
    """Return how many successes hold; raise `RunFailed` at the first outcome that does not.

    `victim` must say of every example, and of every success, what the outcome says it did, and the
    goal must be reached: any wrong class unless told. What `holdfast.attack.verify` checks beyond
    that, which words may change and for what, only the attack itself knows.
    """
    goal = goal or Untargeted()
    remaining, holding = iter(outcomes), 0
    while block := list(islice(remaining, _TOGETHER)):
        won = [outcome for outcome in block if outcome.status == "succeeded"]
        check_originals(victim, [outcome for outcome in block if outcome.status != "unanswered"])
        check_flips(goal, victim, won)
        holding += len(won)
    return holding
