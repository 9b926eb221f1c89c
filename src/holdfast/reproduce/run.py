"""Run cells one after the other; what is done is not done again."""

import dataclasses
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.attack import Machine
from holdfast.attack.machine import ANY_MACHINE
from holdfast.data import Example, Task, evaluation_split, find_task, read_split, sample
from holdfast.errors import InputError, RunFailed
from holdfast.evaluate import Checkpoint, Silent, Suite, evaluate
from holdfast.record import RunRecord, read_record, write_record
from holdfast.reproduce.cell import Cell, Measure, Probed
from holdfast.reproduce.done import cell_folder, is_done, material_of, note_done
from holdfast.reproduce.joined import trained_task
from holdfast.reproduce.probe_cost import cost_record
from holdfast.reproduce.probe_features import features_record, pretrained_victim
from holdfast.reproduce.probe_growth import growth_record
from holdfast.reproduce.rift import features
from holdfast.reproduce.samples import sample_folder
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.shard import alone
from holdfast.solve.recording import release_memory
from holdfast.train import fine_tune
from holdfast.victim import ModelVictim, load

_log = logging.getLogger(__name__)

Say = Callable[[str], None]
COUNTED = 16  # texts that make up the one whose cost is measured


@dataclass(frozen=True)
class Workshop:
    """Where cells are run."""

    setting: Setting
    say: Say = lambda _: None
    """Told what begins."""
    machine: Machine = ANY_MACHINE
    """How attacks use it."""
    keep_models: bool = True
    """Whether what was trained stays when it is measured; hundreds of models fill a disk."""

    @property
    def records(self) -> Path:
        """Folder of all records."""
        return self.setting.output / "records"

    def place(self, cell: Cell) -> Path:
        """Return the folder of a cell's training."""
        return cell_folder(self.setting, cell)

    def run(self, cells: Sequence[Cell]) -> list[str]:
        """Run the cells and return a sentence for each that could not be finished."""
        failed = []
        with alone():
            for number, cell in enumerate(cells, start=1):
                self.say(f"cell {number} of {len(cells)}: {title(cell)}")
                try:
                    self._run(cell)
                except (RunFailed, InputError) as error:  # the others do not depend on it
                    failed.append(f"{title(cell)} failed: {error}")
                    _log.warning("%s", failed[-1])
        return failed

    def _run(self, cell: Cell) -> None:
        if is_done(self.setting, cell):
            return
        if cell.train is not None:
            self._train(cell)
            if cell.measure.evaluated:
                self._evaluate(cell)
        self._probe(cell)
        note_done(self.setting, cell)
        if not self.keep_models:
            shutil.rmtree(self.place(cell) / "run", ignore_errors=True)

    def _train(self, cell: Cell) -> None:
        assert cell.train is not None
        folder = self.place(cell) / "run"
        gone = not (folder / "model").is_dir()
        fine_tune(dataclasses.replace(cell.train, output=folder), progress=False)
        if gone:
            self._forget(cell)
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)  # the best one is `model`
        release_memory()
        record = dataclasses.replace(read_record(folder / "run.json"), model=cell.row)
        self.write(record, f"{cell.measure.task}/training.json")

    def _forget(self, cell: Cell) -> None:
        """Delete what was measured of a model that is gone, by whichever table: it was another."""
        (self.place(cell) / "done.json").unlink(missing_ok=True)
        folder, task = self.records / cell.row / str(cell.seed), cell.measure.task
        shutil.rmtree(folder / task, ignore_errors=True)
        for file in sorted(folder.rglob("*.json")):
            if _measured_task(read_record(file)) in (task, "total"):  # of AdvGLUE, parts and all
                file.unlink()

    def _evaluate(self, cell: Cell) -> None:
        checkpoint = Checkpoint(cell.row, self.place(cell) / "run" / "model", cell.seed)
        for suite in suites_of(cell, self.setting):
            evaluate(checkpoint, suite, self.records, machine=self.machine, progress=Silent())

    def _probe(self, cell: Cell) -> None:
        if not cell.measure.probes:
            return
        setting = self.setting
        probed = Probed(cell, setting.model, setting.data, setting.reading)
        task, examples = self._examples(cell)
        records = []
        if "growth" in cell.measure.probes:
            records.append(growth_record(probed, [example.texts[0] for example in examples]))
        if "features" in cell.measure.probes:
            chosen = features(setting)
            records.append(features_record(probed, self._victim(cell), task, examples, chosen))
        if "cost" in cell.measure.probes:
            records.append(cost_record(probed, self._victim(cell), examples[:COUNTED]))
        for record in records:
            self.write(record, f"{record.task}.json")

    def _victim(self, cell: Cell) -> ModelVictim:
        if cell.train is not None:
            return load(self.place(cell) / "run" / "model")
        by_word = self.setting.reading == "word_level"
        return pretrained_victim(self.setting.model, word_level=by_word)

    def _examples(self, cell: Cell) -> tuple[Task, list[Example]]:
        task = find_task(cell.measure.task)
        folder = sample_folder(self.setting, task.name, cell.measure.sample)
        found = read_split(task, evaluation_split(task, folder), folder).examples
        count = min(cell.measure.examples, len(found))
        return task, sample(found, count, seed=0)

    def write(self, record: RunRecord, name: str) -> Path:
        """Write a record among the others of its model and seed, and return where."""
        return write_record(record, self.records / record.model / str(record.seed) / name)


def _measured_task(record: RunRecord) -> str:
    """Return the task of the model that a record is of; a probe's record says it in its cell."""
    probed = record.config.get("cell")
    return str(probed["measure"]["task"]) if probed else trained_task(record.task)


def title(cell: Cell) -> str:
    """Return a cell in words."""
    return f"{cell.row}, {cell.measure.task}, seed {cell.seed}"


def suites_of(cell: Cell, setting: Setting) -> list[Suite]:
    """Return what evaluations measure of a cell: one for all attacks that get as many examples."""
    first, *others = cell.measure.parts()
    clean = setting.budget.clean
    suite, shared = _suite(first, setting, clean), first.examples if clean == "same" else clean
    return [suite, *(_attacks_of(_suite(part, setting, shared)) for part in others)]


def _attacks_of(suite: Suite) -> Suite:
    """Return a suite without what another measures already."""
    return dataclasses.replace(suite, advglue=None, adaptive=False)


def _suite(measure: Measure, setting: Setting, clean: int | Literal["same"] | None) -> Suite:
    thorough = setting.budget.checks
    return Suite(
        tasks=(measure.task,),
        attacks=measure.attacks,
        examples=measure.examples,
        clean_examples=clean,
        data=sample_folder(setting, measure.task, measure.sample),
        material=material_of(setting, measure),
        advglue=setting.advglue if measure.advglue else None,
        adaptive=thorough,
        adaptive_examples=200,
        stability=thorough,
        cost=False,  # of a text of 128 tokens, by a probe
        precision=setting.budget.measured_in or setting.precision,
    )
