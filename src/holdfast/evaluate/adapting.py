"""What the adaptive cell needs of other cells: their attacks' results, their adversarial texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.errors import InputError
from holdfast.evaluate.adaptive import WHITE_BOX, adaptive, asks, attacks_run, beaten
from holdfast.evaluate.bench import Bench
from holdfast.evaluate.cells import AdaptiveCell
from holdfast.evaluate.drawing import Drawn
from holdfast.evaluate.measured import Measured
from holdfast.evaluate.supplies import MOVING
from holdfast.record import Outcome, OutcomesFile, RunRecord, read_record

ADAPTIVE = "adaptive"
"""What the record has for its attack."""


@dataclass(frozen=True, eq=False)
class Adapted:
    """The adaptive check of one checkpoint."""

    bench: Bench
    cell: AdaptiveCell
    drawn: Drawn
    """What it sees."""
    attacked: Drawn
    """What other attacks were given: the same, or more."""
    transferred: Path | None
    """Outcomes of the reference."""

    def measure(self, head: RunRecord) -> Measured:
        """Attack through gradients, and with the texts that broke the reference."""
        known, examples = self.black_box(head), self.drawn.examples
        attacks = len(attacks_run(known))
        with self.bench.progress.cell(self.cell.title, len(examples), attacks) as watch:
            texts, told = self._texts()
            found = adaptive(
                *(self.bench.victim, examples, self.cell.material),
                seed=self.cell.reading.seed,
                black_box=known,
                transferred=texts,
                moving=MOVING[self.cell.moving],
                certify=self.cell.certify,
                watch=watch,
            )
        return replace(found, notes=(*found.notes, *told, *self._part()))

    def _part(self) -> Iterator[str]:
        """Yield what is to be said where not all examples were attacked."""
        seen, whole = len(self.drawn.examples), len(self.attacked.examples)
        if seen < whole:
            yield (
                f"The adaptive check saw {seen} of the {whole} attacked examples, drawn by the "
                "seed, and is compared with what other attacks left of these."
            )

    def refresh(self, found: RunRecord) -> RunRecord:
        """Say of the other attacks what is to be said now, of those run since too."""
        white = [metric for metric in found.metrics if metric.name == "white_box_accuracy"]
        asked = {
            m.group: m.value or 0.0 for m in found.metrics if m.name == "accuracy_under_attack"
        }
        known = {**self.black_box(found), **asked}
        told = tuple(beaten(white, known))
        stale = [note for note in found.notes if asks(note) in known and note not in told]
        kept = tuple(note for note in found.notes if note not in stale)
        return replace(found, notes=(*kept, *(note for note in told if note not in kept)))

    def black_box(self, head: RunRecord) -> dict[str, float]:
        """Return what attacks that only ask left of the accuracy, by the records beside this.

        Of the examples that this check sees, whatever their number there.
        """
        place, found = (self.bench.out / self.cell.stem).parent, {}
        for path in sorted(place.glob(f"*-{self.cell.reading.seed}.json")):
            record = read_record(path)
            asks = record.attack not in (None, ADAPTIVE, *WHITE_BOX)
            same = record.checksums.get("model") == head.checksums["model"]
            if asks and same and (marks := self._seen(record)):
                found[str(record.attack)] = marks.count("1") / len(marks)
        return found

    def _seen(self, record: RunRecord) -> str:
        """Return which of the examples that this check sees an attack left; none: unknown."""
        marks = record.marks.get("accuracy_under_attack", "")
        given = [example.id for example in self.attacked.examples]
        if record.checksums.get("data") != self.attacked.sha256 or len(marks) != len(given):
            return ""
        left = dict(zip(given, marks, strict=True))
        return "".join(left[example.id] for example in self.drawn.examples)

    def _texts(self) -> tuple[Sequence[Outcome], tuple[str, ...]]:
        """Return the outcomes of the reference, and what is to be said of them.

        Of all that was attacked, as each costs one question only; with the labels of this model.
        """
        if self.transferred is None:
            return (), ()
        own = {example.id: example for example in self.attacked.examples}
        file = OutcomesFile(self.transferred)
        found = [outcome for outcome in file if outcome.id in own]
        if not found or any(outcome.texts != own[outcome.id].texts for outcome in found):
            raise InputError(
                f"{self.transferred} is about other examples than these; evaluate the reference "
                "on the same."
            )
        notes = tuple(self._doubts(self.transferred, len(found), torn=file.torn))
        return [replace(outcome, label=own[outcome.id].label) for outcome in found], notes

    def _doubts(self, file: Path, known: int, *, torn: bool) -> Iterator[str]:
        """Yield what is not as it should be with the texts of the reference."""
        seed, own = file.parent.parent.name, self.bench.fitted.checkpoint.place.name
        if seed != own:
            yield (
                f"The texts that are transferred were found on {self.cell.reference} of the "
                f"training seed {seed}: there are none of the seed {own}."
            )
        if torn or known < len(self.attacked.examples):
            why = ", as its file is cut off" if torn else ""
            yield (
                f"{self.cell.reference} has outcomes of {known} of the "
                f"{len(self.attacked.examples)} examples{why}: only their texts are transferred."
            )


def outcomes_of_reference(bench: Bench, cell: AdaptiveCell) -> Path | None:
    """Return the outcomes whose texts are transferred, of the same training seed if there are."""
    if cell.reference is None:
        return None
    file = f"{cell.reading.task}/{cell.found_by}-{cell.reading.seed}.outcomes.jsonl"
    same = bench.out / replace(bench.fitted.checkpoint, name=cell.reference).place / file
    found = [same] if same.is_file() else sorted((bench.out / cell.reference).glob(f"*/{file}"))
    if not found:
        raise InputError(
            f"There are no outcomes of {cell.found_by} on the reference {cell.reference} for "
            f"{cell.reading.task} in {bench.out}; evaluate {cell.reference} first."
        )
    return found[0]
