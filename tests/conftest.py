"""What every test stands on: no network, no GPU, one thread, the same examples every time."""

import os

# Set before torch or transformers is imported, and inherited by the processes tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["MPLBACKEND"] = "Agg"

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

# One thread on a shared machine is slow now and then: a deadline would test the machine.
hypothesis.settings.register_profile("holdfast", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("holdfast")


@pytest.fixture(scope="module")
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a script of the repository by its name; scripts import each other."""
    folder = str(Path(__file__).resolve().parents[1] / "scripts")
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)
