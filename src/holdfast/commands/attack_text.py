"""What an attack showed, for a reader: a table, or a sentence with its changed words marked."""

import sys
from collections.abc import Iterable, Sequence
from itertools import islice

from holdfast.attack import Change, Outcome, Share, Summary
from holdfast.commands.table import paragraph, table
from holdfast.text import Words

SHOWN = 2
"""Broken texts that are printed; --output keeps them all."""
_STRUCK, _BOLD, _PLAIN = "\x1b[9;31m", "\x1b[1;32m", "\x1b[0m"
_STATUS = {
    "succeeded": "The attack succeeded",
    "failed": "The attack failed",
    "skipped": "Not attacked: the model is wrong already",
    "untouched": "Not attacked: no word has a substitute",
    "certain": "Not attacked: proved that no text of the attack changes the answer",
    "unanswered": "Not attacked: the model's answer is no number",
}


def summary_text(name: str, summary: Summary, seconds: float, words: str = "") -> str:
    """Return the numbers as a table, and what they rest on: `words` is the substitutes' source."""
    rows = [
        ["accuracy", *_share(summary.accuracy)],
        ["accuracy under attack", *_share(summary.accuracy_under_attack)],
        ["success rate", *_share(summary.success_rate)],
    ]
    if summary.certain.count:
        rows.insert(2, ["of which certain", *_share(summary.certain)])
    success = (
        f"a success replaces {summary.mean_changes:.1f} words ({summary.mean_changed_share:.0%})"
        if summary.success_rate.count
        else "no success"
    )
    source = f" with the words of {words}" if words else ""
    cost = (
        f"{name}{source}: {success}; an attacked example takes "
        f"{summary.mean_queries:,.0f} queries and {summary.mean_forwards:,.0f} forwards. "
        f"{summary.examples:,} examples in {seconds:.1f} s."
    )
    notes = [
        f"{count:,} examples {reason}."
        for count, reason in (
            (summary.certain.count, "are right whatever the attack writes, which was proved"),
            (summary.untouched, "have no word that may change, and count as right"),
            (summary.unanswered, "got no number as an answer, and count as broken"),
        )
        if count
    ]
    return "\n".join([table(["measure", "%", "95 %", "of"], rows), "", paragraph(cost), *notes])


def successes_text(outcomes: Iterable[Outcome], labels: Sequence[str]) -> str:
    """Return the first few texts that broke, to see what the attacker did; empty: none did."""
    broken = (outcome for outcome in outcomes if outcome.status == "succeeded")
    return "".join(f"\n\n{outcome_text(one, labels)}" for one in islice(broken, SHOWN))


def _share(share: Share) -> list[str]:
    interval = f"{100 * share.low:.1f}-{100 * share.high:.1f}"
    return [f"{100 * share.value:.1f}", interval, f"{share.count:,} of {share.total:,}"]


def outcome_text(outcome: Outcome, labels: Sequence[str], colour: bool | None = None) -> str:
    """Return one outcome: what the model said before and after, and the words that changed."""
    shown = sys.stdout.isatty() if colour is None else colour
    before = _said(outcome.prediction, outcome.probabilities, labels)
    after = _said(outcome.adversarial_prediction, outcome.adversarial_probabilities, labels)
    heading = f"{_STATUS[outcome.status]}: {before}" + (f" -> {after}" if after else "")
    texts = [
        _marked(text, [change for change in outcome.changes if change.text == number], shown)
        for number, text in enumerate(outcome.texts)
    ]
    counts = f"{len(outcome.changes)} of {outcome.words} words changed, {outcome.queries} queries"
    note = [outcome.note] if outcome.note else []
    return "\n".join([heading, *texts, counts, *note])


def _said(prediction: int | None, probabilities: Sequence[float], labels: Sequence[str]) -> str:
    if prediction is None:
        return ""
    return f"{labels[prediction]} ({probabilities[prediction]:.2f})"


def _marked(text: str, changes: Sequence[Change], colour: bool) -> str:
    """Return a text in which changed words carry what they were: colours, or brackets."""
    form = f"{_STRUCK}{{0}}{_PLAIN} {_BOLD}{{1}}{_PLAIN}" if colour else "[{0} -> {1}]"
    shown = {change.word: form.format(change.old, change.new) for change in changes}
    return str(Words.of(text).replaced(shown))
