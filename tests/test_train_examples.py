"""The examples do what they say; each checks itself and exits with a sentence if it does not."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["own_loop.py", "train_with_trainer.py"])
def test_an_example_runs(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert "->" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["own_loop.py", "train_with_trainer.py"])
def test_an_example_is_short(name):
    assert len((EXAMPLES / name).read_text().splitlines()) < 60
