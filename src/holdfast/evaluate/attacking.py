"""A cell under attack: run or resumed, checked again, and put into numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.attack import (
    Attack,
    Process,
    Summary,
    attack_to_file,
    kept_aside,
    parts_of,
    read_outcomes,
    summarise,
    verify,
)
from holdfast.evaluate.baselines import Baselines, baselines, doubts, share
from holdfast.evaluate.bench import Bench
from holdfast.evaluate.cells import AttackCell
from holdfast.evaluate.drawing import Drawn
from holdfast.evaluate.measured import Measured
from holdfast.evaluate.similarity import similarity
from holdfast.evaluate.stability import moves
from holdfast.record import Metric, Outcome, Series
from holdfast.statistics import bootstrap_values


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attack on one checkpoint, and the file of its outcomes."""

    bench: Bench
    cell: AttackCell
    drawn: Drawn
    attack: Attack
    file: Path

    def measure(self) -> Measured | None:
        """Attack what is not yet attacked; in the first process check all and count."""
        process = Process.of_environment()
        begun = begun_before(self.file, process)
        share_of_process = -(-len(self.drawn.examples) // process.count)
        in_flight, workers = self.bench.machine.settled(self.attack, self.bench.victim)
        with self.bench.progress.cell(self.cell.title, share_of_process) as watch:
            attack_to_file(
                *(self.attack, self.bench.victim, self.drawn.examples, self.file),
                seed=self.cell.reading.seed,
                in_flight=in_flight,
                workers=workers,
                certify=self.cell.certify,
                process=process,
                watch=watch,
            )
        if process.rank > 0:
            return None
        outcomes = list(read_outcomes(self.file))
        self._check(outcomes)
        return self._counted(outcomes, begun)

    def _check(self, outcomes: Sequence[Outcome]) -> None:
        """Verify; outcomes that do not hold are kept aside, so that the next run attacks again."""
        with kept_aside(self.file):
            verify(self.attack, self.bench.victim, outcomes, self.drawn.examples)

    def _counted(self, outcomes: Sequence[Outcome], begun: tuple[str, ...]) -> Measured:
        classes, certified = self.bench.victim.classes, self.cell.certify
        found = counted(outcomes, self.attack.name, classes, certified=certified)
        return replace(
            found,
            metrics=(*found.metrics, *self._similarity(outcomes)),
            series=self._moves(outcomes),
            notes=(*found.notes, *begun),
        )

    def _similarity(self, outcomes: Sequence[Outcome]) -> tuple[Metric, ...]:
        encoder = self.cell.material.encoder
        return () if encoder is None else (similarity(outcomes, encoder),)

    def _moves(self, outcomes: Sequence[Outcome]) -> tuple[Series, ...]:
        if not self.cell.stability:
            return ()
        seed = self.cell.reading.seed
        return tuple(moves(self.bench.victim, outcomes, self.attack, seed=seed))


def begun_before(file: Path, process: Process) -> tuple[str, ...]:
    """Return a note where an earlier run has written outcomes already; to be asked at the start."""
    alone = process.count == 1  # or the parts of the others may be of this very run
    if not file.exists() and not parts_of(file, None if alone else process):
        return ()
    return (
        "The attack was interrupted and resumed: the seconds are those of its last part alone.",
    )


def counted(
    outcomes: Sequence[Outcome], name: str, classes: int, *, certified: bool = False
) -> Measured:
    """Return an attack in numbers, from its outcomes alone; `certified`: with what was proved."""
    labels = [outcome.label for outcome in outcomes]
    predictions = [-1 if o.prediction is None else o.prediction for o in outcomes]
    known, marks = baselines(labels, classes), attack_marks(outcomes)
    metrics = attack_metrics(outcomes, known)
    if certified:
        marks["certified_accuracy"] = certain_marks(outcomes)
        metrics += (share("certified_accuracy", marks["certified_accuracy"], **vars(known)),)
    return Measured(
        metrics,
        marks,
        notes=(*doubts(predictions, labels), *attack_notes(name, summarise(outcomes))),
    )


def attack_marks(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return which examples were right before the attack, and which still are after it."""
    before = "".join("01"[o.status not in ("skipped", "unanswered")] for o in outcomes)
    after = "".join("01"[outcome.survived] for outcome in outcomes)
    return {"accuracy": before, "accuracy_under_attack": after}


def certain_marks(outcomes: Sequence[Outcome]) -> str:
    """Return which examples are right whatever the attack writes; no word to write counts, too."""
    return "".join("01"[outcome.status in ("certain", "untouched")] for outcome in outcomes)


def attack_metrics(outcomes: Sequence[Outcome], known: Baselines) -> tuple[Metric, ...]:
    """Return what an attack left, beside what a model that knows nothing would keep.

    Always the same answer cannot be attacked, so the baselines are the same as without an attack.
    """
    marks = attack_marks(outcomes)
    won = [outcome for outcome in outcomes if outcome.status == "succeeded"]
    attacked = [outcome for outcome in outcomes if outcome.status in ("succeeded", "failed")]
    right = [outcome for outcome in outcomes if outcome.survived or outcome.status == "succeeded"]
    broken = "".join("01"[outcome.status == "succeeded"] for outcome in right)
    changed = [len(outcome.changes) / max(1, outcome.words) for outcome in won]
    return (
        *(share(name, of, **vars(known)) for name, of in marks.items()),
        share("success_rate", broken),
        _mean("changed_words", [float(len(outcome.changes)) for outcome in won], least=1.0),
        _mean("changed_share", changed, most=1.0),
        _mean("queries", [float(outcome.queries) for outcome in attacked]),
    )


def _mean(
    name: str, values: Sequence[float], *, least: float = 0.0, most: float = math.inf
) -> Metric:
    """Return the mean of numbers between `least` and `most`; of none, no value."""
    if not values:
        return Metric(name, None)
    found = bootstrap_values([values]).within(least, most)
    return Metric(name, found.value, found.low, found.high)


def attack_notes(name: str, summary: Summary) -> tuple[str, ...]:
    """Return what a reader must know before believing the numbers."""
    notes = []
    if summary.untouched == summary.accuracy.count > 0:
        notes.append(
            f"{name} may change no word of any of these texts, so nothing was attacked: what it "
            "leaves of the accuracy says nothing."
        )
    elif summary.untouched:
        notes.append(
            f"{summary.untouched} of {summary.examples} texts have no word that {name} may change; "
            "they count as right."
        )
    if summary.accuracy.count == 0:
        notes.append("No example was right before the attack, so none was attacked.")
    return tuple(notes)
