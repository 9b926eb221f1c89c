"""Outcomes of attacks, read line by line: a sample to look at, and models with but one answer."""

import heapq
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import InputError
from holdfast.record import Outcome, OutcomesFile, RunRecord
from holdfast.report.changed_text import changed_text
from holdfast.report.constant import FEWEST
from holdfast.report.content import Example, Gallery, Section
from holdfast.report.numbers import counted
from holdfast.report.places import where

STATUSES = {
    "succeeded": "broken",
    "failed": "held",
    "skipped": "wrong before",
    "untouched": "nothing to change",
    "certain": "held for certain",
    "unanswered": "no answer",
}
"""Status of an outcome to what the page calls it."""
MOST_EXAMPLES, MOST_OF_A_KIND = 600, 12


class Group(NamedTuple):
    """Of what the sample is drawn: so many of each."""

    model: str
    task: str
    attack: str
    status: str


class Drawn(NamedTuple):
    """An outcome of the sample; the lowest keys stay. The same texts have them with all models."""

    key: int
    id: str
    outcome: Outcome
    seed: int | None
    labels: Sequence[str]
    """Names of the classes by their codes, as far as they are known."""


@dataclass
class Outcomes:
    """What all files of outcomes hold together."""

    total: int = 0
    drawn: dict[Group, list[Drawn]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)
    one_answer: list[RunRecord] = field(default_factory=list)
    """Records whose model gave every text the same class."""


def read_outcomes(records: Iterable[tuple[Path, RunRecord]]) -> Outcomes:
    """Go through the outcomes beside the records once; a file that ends too early costs no more."""
    found = Outcomes()
    for path, record in records:
        if record.outcomes is not None:
            _read(found, record, OutcomesFile(path.parent / record.outcomes))
    return found


def _read(found: Outcomes, record: RunRecord, file: OutcomesFile) -> None:
    answers: set[int | None] = set()
    labels: set[int] = set()
    heaps: dict[str, list[Drawn]] = {}
    count, under = 0, record.attack or "none"
    try:
        file.header()
        _require_own(file, record)
        for outcome in file:
            count += 1
            answers.add(outcome.prediction)
            labels.add(outcome.label)
            status = outcome.status
            if status not in heaps:
                heaps[status] = found.drawn[Group(record.model, record.task, under, status)]
            _keep(heaps[status], outcome, record)
    except (InputError, OSError, TypeError) as error:
        kept = f"; {counted(count, 'outcome')} before it are counted" if count else ""
        found.problems.append(f"{where(record)}: {str(error).rstrip('.')}{kept}.")
        return
    finally:
        found.total += count
    if file.torn:
        found.problems.append(
            f"{where(record)}: {file.path} ends before all the outcomes that it promises; what "
            f"it has, {counted(count, 'outcome')}, is counted."
        )
    if count >= FEWEST and len(answers - {None}) == 1 and len(labels) > 1:
        found.one_answer.append(record)


def _require_own(file: OutcomesFile, record: RunRecord) -> None:
    if file.belongs_to(record):
        return
    held = sum(1 for _ in file)
    if file.torn:
        raise InputError(
            f"{file.path} was cut short: it has {counted(held, 'outcome')}, fewer than it "
            "promises, and its SHA-256 is not that of the record; none of it is shown."
        )
    raise InputError(
        f"{file.path} is not the file that the record was made of, as its SHA-256 is another; "
        "none of it is shown."
    )


def _require_texts(outcome: Outcome) -> None:
    texts = (outcome.id, *outcome.texts, *(outcome.adversarial or ()))
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"The outcome {outcome.id!r} has something else than text for its texts.")


def _keep(heap: list[Drawn], outcome: Outcome, record: RunRecord) -> None:
    # Negative, as heapq keeps the least on top and the greatest key must go first.
    key = -zlib.crc32(str(outcome.id).encode("utf-8", "replace"))
    if len(heap) == MOST_OF_A_KIND and key <= heap[0].key:
        return
    _require_texts(outcome)
    entry = Drawn(key, outcome.id, outcome, record.seed, record.labels)
    if any(other.id == outcome.id for other in heap):
        return  # the same text, of another training or attack seed
    if len(heap) < MOST_OF_A_KIND:
        heapq.heappush(heap, entry)
    else:
        heapq.heapreplace(heap, entry)


def gallery(found: Outcomes, most: int = MOST_EXAMPLES) -> Section | None:
    """Return the sample: equally many of each model, task, attack and outcome, at most `most`."""
    if not found.total or not most:
        return None
    each = max(1, most // len(found.drawn))
    drawn = [
        (rank, zlib.crc32(repr((one.id, group)).encode()), one, group)
        for group, heap in found.drawn.items()
        for rank, one in enumerate(sorted(heap, key=lambda one: -one.key)[:each])
    ]
    drawn.sort(key=lambda entry: entry[:2])  # one of each group, then the next of each
    examples = tuple(_example(one, group) for _, _, one, group in drawn[:most])
    lead = (
        f"{_how_many(len(examples), found.total)} A word that the attack took out is struck "
        "through, the one it put there is underlined."
    )
    return Section("examples", "Adversarial examples", lead, (Gallery(examples, found.total),))


def _how_many(shown: int, total: int) -> str:
    if shown == total:
        return f"All {counted(total, 'text')}." if total > 1 else "The one text there is."
    return (
        f"{counted(shown, 'text')} of {total:,}, drawn by a checksum of their ids, the same ones "
        "for every model where they can be."
    )


def _example(drawn: Drawn, group: Group) -> Example:
    outcome = drawn.outcome
    changed: Sequence[str | None] = outcome.adversarial or (None,) * len(outcome.texts)
    texts = tuple(
        changed_text(old, changed[at] if at < len(changed) else None)
        for at, old in enumerate(outcome.texts)
    )
    after = ""
    if outcome.adversarial is not None:
        after = _answer(
            outcome.adversarial_prediction, outcome.adversarial_probabilities, drawn.labels
        )
    return Example(
        model=group.model,
        task=group.task,
        attack=group.attack,
        status=STATUSES.get(outcome.status, outcome.status),
        kind=outcome.status,
        label=_name(outcome.label, drawn.labels),
        before=_answer(outcome.prediction, outcome.probabilities, drawn.labels),
        after=after,
        texts=texts,
        facts=_facts(outcome),
        seed="" if drawn.seed is None else str(drawn.seed),
    )


def _answer(prediction: int | None, probabilities: Sequence[float], labels: Sequence[str]) -> str:
    if prediction is None:
        return "no number"
    name = _name(prediction, labels)
    if 0 <= prediction < len(probabilities):
        return f"{name} ({100 * probabilities[prediction]:.0f} %)"
    return name


def _name(code: int, labels: Sequence[str]) -> str:
    known = isinstance(code, int) and 0 <= code < len(labels)  # files of other making have any
    return labels[code] if known else str(code)


def _facts(outcome: Outcome) -> str:
    parts = []
    if outcome.changes:
        parts.append(f"{len(outcome.changes)} of {counted(outcome.words, 'word')} changed")
    if outcome.queries:
        parts.append(counted(outcome.queries, "query", "queries"))
    return ", ".join([*parts, outcome.note] if outcome.note else parts)
