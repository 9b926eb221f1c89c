"""What each kind of cell reads and measures."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.attack import Attack, describe
from holdfast.attack.certify import provable
from holdfast.attack.sources import ModelFolder
from holdfast.data import checksum
from holdfast.evaluate.adapting import ADAPTIVE, Adapted, outcomes_of_reference
from holdfast.evaluate.advglue import ADVGLUE, AdvExample, advglue_task
from holdfast.evaluate.attacking import Attacked
from holdfast.evaluate.bench import Bench, Prepared
from holdfast.evaluate.cells import AdaptiveCell, AdvGLUECell, AttackCell, Cell, CleanCell, Reading
from holdfast.evaluate.clean import clean
from holdfast.evaluate.cost import cost
from holdfast.evaluate.drawing import Drawn, model_codes
from holdfast.evaluate.leaks import leaks
from holdfast.evaluate.measured import Measured
from holdfast.record import RunRecord, encode
from holdfast.record.attacks import attack_checksum


def prepare(bench: Bench, cell: Cell) -> Prepared:
    """Read what a cell needs; nothing is measured yet."""
    match cell:
        case CleanCell():
            return _clean(bench, cell)
        case AttackCell():
            return _attack(bench, cell)
        case AdaptiveCell():
            return _adaptive(bench, cell)
        case AdvGLUECell():
            return _advglue(bench, cell)


def _clean(bench: Bench, cell: CleanCell) -> Prepared:
    drawn = bench.supplies.drawn(cell.reading, bench.fitted.labels)

    def measure() -> Measured:
        with bench.progress.cell(cell.title, len(drawn.examples)):
            found = clean(bench.victim, drawn.examples, drawn.task, positive=drawn.positive)
            texts = [example.texts for example in drawn.examples]
            spent = cost(bench.victim, texts) if cell.cost else ()
        return replace(found, metrics=(*found.metrics, *spent))

    seeds = {"sample": cell.reading.seed}
    return Prepared(_head(bench, cell, drawn, seeds, {}), measure)


def _attack(bench: Bench, cell: AttackCell) -> Prepared:
    drawn = bench.supplies.drawn(cell.reading, bench.fitted.labels)
    attack = bench.supplies.attack(cell.attack, cell.material, cell.moving)
    # where nothing can be proved, asking for proofs makes no other cell
    cell = replace(cell, certify=cell.certify and provable(attack, bench.victim) is not None)
    file = bench.out / cell.stem.with_name(f"{cell.stem.name}.outcomes.jsonl")
    checksums = {**_checksums(attack), **_encoder(cell.material.encoder)}
    seeds = dict.fromkeys(("sample", "attack"), cell.reading.seed)
    head = _head(bench, cell, drawn, seeds, checksums, cell.attack)
    head = replace(head, outcomes=file.name, labels=drawn.task.labels)
    return Prepared(head, Attacked(bench, cell, drawn, attack, file).measure)


def _adaptive(bench: Bench, cell: AdaptiveCell) -> Prepared:
    labels = bench.fitted.labels
    # the record is about what it saw, so that its marks are compared with those of the same only
    drawn = bench.supplies.drawn(cell.seen, labels)
    attacked = bench.supplies.drawn(cell.reading, labels)
    checksums = _checksums(*bench.supplies.white_box(cell.material, cell.moving))
    if (transferred := outcomes_of_reference(bench, cell)) is not None:
        checksums["transferred"] = checksum(transferred)
    seeds = dict.fromkeys(("sample", "attack"), cell.reading.seed)
    head = _head(bench, cell, drawn, seeds, checksums, ADAPTIVE)
    adapted = Adapted(bench, cell, drawn, attacked, transferred)
    return Prepared(head, lambda: adapted.measure(head), adapted.refresh)


def _head(
    bench: Bench,
    cell: CleanCell | AttackCell | AdaptiveCell,
    drawn: Drawn,
    seeds: Mapping[str, int],
    checksums: Mapping[str, str],
    attack: str | None = None,
) -> RunRecord:
    read = {"data": drawn.sha256, "source": drawn.source}
    head = bench.head(cell, cell.reading.task, {**read, **checksums}, attack=attack, seeds=seeds)
    notes = (*_other_task(bench, cell.reading), *leaks(bench.fitted.training, drawn))
    return replace(head, notes=notes)


def _other_task(bench: Bench, reading: Reading) -> Iterator[str]:
    trained = bench.fitted.trained
    if reading.file is None and trained not in (None, reading.task):
        yield f"The model was trained on {trained} and is evaluated on {reading.task}."


def _checksums(*attacks: Attack) -> dict[str, str]:
    """Return the checksum of attacks with all their settings, and of their lexicon by itself."""
    described = [describe(attack) for attack in attacks]
    lexicon = described[0]["transformation"].get("lexicon")
    own = {"lexicon": lexicon["sha256"]} if isinstance(lexicon, dict) else {}
    return {"attack": attack_checksum(described), **own}


def _encoder(folder: Path | None) -> dict[str, str]:
    return {} if folder is None else {"encoder": ModelFolder.of(folder).sha256}


def _advglue(bench: Bench, cell: AdvGLUECell) -> Prepared:
    task = ADVGLUE[cell.part]
    order = model_codes(task, bench.fitted.labels)
    rows = bench.supplies.rows(cell.file)[cell.part]
    turned: list[AdvExample] = [replace(row, label=order[row.label]) for row in rows]
    content: Any = [encode(row) for row in rows]
    data = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    checksums = {"data": data, "source": checksum(cell.file)}

    def measure() -> Measured:
        with bench.progress.cell(cell.title, len(turned)):
            return advglue_task(bench.victim, turned, positive=order[1])

    return Prepared(bench.head(cell, f"advglue/{cell.part}", checksums), measure)
