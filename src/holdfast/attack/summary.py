"""What an attack showed, in a few numbers, each share with its interval."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from holdfast.record import Outcome, Status
from holdfast.statistics import wilson


@dataclass(frozen=True)
class Share:
    """So many of so many, with the 95 % interval of Wilson (1927)."""

    count: int
    total: int
    value: float
    """`count` of `total`; 0 of none is 0."""
    low: float
    high: float

    @classmethod
    def of(cls, count: int, total: int) -> "Share":
        """Return the share with its interval, which stays within 0 and 1."""
        if total == 0:
            return cls(count, total, 0.0, 0.0, 1.0)
        return cls(count, total, count / total, *wilson(count, total))


@dataclass(frozen=True)
class Summary:
    """All outcomes of an attack together."""

    examples: int
    accuracy: Share
    """Right before the attack, of all examples."""
    accuracy_under_attack: Share
    """Right before and after, of all examples: one that was wrong before counts as broken."""
    success_rate: Share
    """Attacks that succeeded, of the examples that were right before: wrong ones are skipped."""
    untouched: int
    """Examples in which no word may change; they count as right."""
    certain: Share
    """Answers of which it was proved that no text of the attack changes them, of all examples."""
    unanswered: int
    """Examples for which the victim gave no number; they count as broken."""
    mean_changes: float
    """Words replaced in a success."""
    mean_changed_share: float
    """The same as a share of the words that the attack could look at."""
    mean_queries: float
    """Texts asked for, of the examples that were attacked."""
    mean_forwards: float
    """Different texts run, of the same."""
    queries: int
    """Texts asked for in all."""
    forwards: int
    """Different texts run in all."""


def summarise(outcomes: Iterable[Outcome]) -> Summary:
    """Count; the outcomes are gone through once and not kept."""
    counts = dict.fromkeys(get_args(Status), 0)
    queries = forwards = attacked_queries = attacked_forwards = changes = 0
    changed_share = 0.0
    for outcome in outcomes:
        counts[outcome.status] += 1
        queries, forwards = queries + outcome.queries, forwards + outcome.forwards
        if outcome.status in ("succeeded", "failed"):
            attacked_queries += outcome.queries
            attacked_forwards += outcome.forwards
        if outcome.status == "succeeded":
            changes += len(outcome.changes)
            changed_share += len(outcome.changes) / max(1, outcome.words)
    total = sum(counts.values())
    right = total - counts["skipped"] - counts["unanswered"]
    attacked = max(1, counts["succeeded"] + counts["failed"])
    won = max(1, counts["succeeded"])
    return Summary(
        examples=total,
        accuracy=Share.of(right, total),
        accuracy_under_attack=Share.of(right - counts["succeeded"], total),
        success_rate=Share.of(counts["succeeded"], right),
        untouched=counts["untouched"],
        certain=Share.of(counts["certain"], total),
        unanswered=counts["unanswered"],
        mean_changes=changes / won,
        mean_changed_share=changed_share / won,
        mean_queries=attacked_queries / attacked,
        mean_forwards=attacked_forwards / attacked,
        queries=queries,
        forwards=forwards,
    )
