"""The commands behind `holdfast`: one module each, with one function `run(argv)`."""
