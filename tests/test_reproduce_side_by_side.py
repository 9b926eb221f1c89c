"""Cells in several processes: each is run once, and none ends the others."""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from holdfast.errors import InputError
from holdfast.reproduce import side_by_side
from holdfast.reproduce.cell import Cell, Measure
from holdfast.reproduce.run import Workshop
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.side_by_side import run_side_by_side


@dataclass(frozen=True)
class Scribbling(Workshop):
    """Adds a line to a file in place of running a cell."""

    def run(self, cells: Sequence[Cell]) -> list[str]:
        for cell in cells:
            if cell.row.startswith("raises"):
                raise RuntimeError("not finite")
            if cell.row.startswith("full"):
                note(self.setting.output / "tries", cell.row)
                if cell.row.endswith("always") or tries(self.setting.output, cell.row) == 1:
                    raise torch.OutOfMemoryError("CUDA out of memory.\nAnd more.")
            if cell.row.startswith("fails"):
                return [f"{cell.row} failed"]
            with (self.setting.output / cell.id).open("a") as file:
                shared, threads = self.machine.shared, torch.get_num_threads()
                file.write(f"{os.getpid()} {self.machine.workers} {shared} {threads}\n")
        return []


def note(file: Path, line: str) -> None:
    with file.open("a") as open_file:
        open_file.write(f"{line}\n")


def tries(folder: Path, row: str) -> int:
    return (folder / "tries").read_text().splitlines().count(row)


def workshop(folder: Path) -> Scribbling:
    folder.mkdir(exist_ok=True)
    return Scribbling(Setting(model="none", output=folder))


def cell(row: str, seed: int = 0) -> Cell:
    return Cell(row, (), None, Measure("sst2"), seed)


def written(folder: Path) -> dict[str, list[list[str]]]:
    return {
        path.name: [line.split() for line in path.read_text().splitlines()]
        for path in folder.iterdir()
    }


def test_every_cell_is_run_exactly_once(tmp_path):
    cells = [cell("BERT", seed) for seed in range(6)]
    there = workshop(tmp_path / "out")
    took = run_side_by_side([(there, each) for each in cells], 2)
    found = written(tmp_path / "out")
    assert sorted(found) == sorted(each.id for each in cells)
    assert all(len(lines) == 1 for lines in found.values())
    assert sorted(took) == sorted(f"{tmp_path / 'out'}/{each.id}" for each in cells)
    assert all(seconds >= 0 for seconds in took.values())


def test_cells_run_in_other_processes_with_one_thread_and_no_helpers(tmp_path):
    cells = [cell("BERT", seed) for seed in range(4)]
    run_side_by_side([(workshop(tmp_path / "out"), each) for each in cells], 2)
    for ((process, workers, shared, threads),) in written(tmp_path / "out").values():
        assert int(process) != os.getpid()
        assert (workers, shared, threads) == ("0", "True", "1")


def test_cells_of_several_tables_stand_in_one_row(tmp_path):
    one, other = workshop(tmp_path / "one"), workshop(tmp_path / "other")
    took = run_side_by_side([(one, cell("BERT")), (other, cell("BERT"))], 2)
    same = cell("BERT").id
    assert set(took) == {f"{tmp_path / 'one'}/{same}", f"{tmp_path / 'other'}/{same}"}


@pytest.mark.parametrize("bad", ["raises", "fails"])
def test_a_cell_that_cannot_be_finished_does_not_end_the_others(tmp_path, bad):
    cells = [cell(bad), cell("BERT", 0), cell(f"{bad} too"), cell("BERT", 1)]
    took = run_side_by_side([(workshop(tmp_path / "out"), each) for each in cells], 1)
    good = {cells[1].id, cells[3].id}
    assert set(written(tmp_path / "out")) == good
    assert set(took) == {f"{tmp_path / 'out'}/{name}" for name in good}


def test_cells_that_find_the_card_full_are_run_again_when_the_others_have_ended(tmp_path):
    cells = [cell("full"), cell("BERT", 0), cell("full too"), cell("BERT", 1)]
    took = run_side_by_side([(workshop(tmp_path / "out"), each) for each in cells], 2)
    names = [f"{tmp_path / 'out'}/{each.id}" for each in cells]
    assert set(list(took)[:2]) == {names[1], names[3]}
    assert list(took)[2:] == [names[0], names[2]]  # by one process
    assert tries(tmp_path / "out", "full") == 2


def test_they_are_run_again_once_and_no_more(tmp_path):
    cells = [cell("full always"), cell("BERT")]
    took = run_side_by_side([(workshop(tmp_path / "out"), each) for each in cells], 2)
    assert list(took) == [f"{tmp_path / 'out'}/{cells[1].id}"]
    assert tries(tmp_path / "out", "full always") == 2


def test_memory_is_given_back_when_what_failed_is_gone(tmp_path, monkeypatch):
    left = []
    monkeypatch.setattr(side_by_side.torch, "set_num_threads", lambda number: None)
    monkeypatch.setattr(side_by_side, "release_memory", lambda: left.append(sys.exc_info()[1]))
    there, following = workshop(tmp_path / "out"), multiprocessing.Value("i", 0)
    side_by_side._work([(there, cell("full"))], following, {}, [], None)
    assert left == [None]


def test_after_the_time_nothing_is_begun(tmp_path):
    there = workshop(tmp_path / "out")
    assert run_side_by_side([(there, cell("BERT"))], 2, seconds=0) == {}
    assert not written(tmp_path / "out")


def test_there_may_be_more_processes_than_cells_and_no_cells_at_all(tmp_path):
    there = workshop(tmp_path / "out")
    assert run_side_by_side([], 2) == {}
    assert len(run_side_by_side([(there, cell("BERT"))], 3)) == 1


def test_no_processes_are_refused(tmp_path):
    with pytest.raises(InputError, match="There are 0 processes; expected 1 or more"):
        run_side_by_side([(workshop(tmp_path / "out"), cell("BERT"))], 0)
    assert not written(tmp_path / "out")


def test_a_gpu_that_is_in_use_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(side_by_side.torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(InputError, match="The GPU is in use already"):
        run_side_by_side([(workshop(tmp_path / "out"), cell("BERT"))], 1)
