"""Short spellings of flags: a section that holds a folder, and a choice of class."""

from pathlib import Path

import pytest

from holdfast.commands.train import INTERFACE
from holdfast.errors import InputError
from holdfast.solve import Broyden

REQUIRED = ["--model", "m", "--output", "out", "--data.task", "sst2"]


def test_data_is_the_folder_of_the_data_as_in_other_commands() -> None:
    short, _ = INTERFACE.read([*REQUIRED, "--data", "somewhere"])
    long, _ = INTERFACE.read([*REQUIRED, "--data.folder", "somewhere"])
    assert short == long
    assert short.data.folder == Path("somewhere")


def test_a_class_is_chosen_without_saying_type() -> None:
    flags = ["--preset", "recommended", "--connection.solver", "Broyden"]
    config, _ = INTERFACE.read([*REQUIRED, *flags])
    assert config.connection.solver == Broyden()


def test_a_section_without_a_folder_has_no_short_form() -> None:
    with pytest.raises(InputError, match=r"There is no option --optimisation"):
        INTERFACE.read([*REQUIRED, "--optimisation", "somewhere"])
