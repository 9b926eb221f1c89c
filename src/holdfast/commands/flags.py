"""The words of a command line, grouped into flags and their values."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.errors import InputError


@dataclass(frozen=True)
class Flag:
    """One `--name` with what followed it; dashes in the name read as underscores."""

    name: str
    values: tuple[str, ...]

    @property
    def depth(self) -> int:
        """How deep in the configuration the setting lies."""
        return self.name.count(".")


def split_flags(argv: Sequence[str]) -> list[Flag]:
    """Return the flags of `argv` in order; `--a b c`, `--a=b` and `-h` are understood."""
    groups: list[tuple[str, list[str]]] = []
    for word in argv:
        if word == "-h":
            groups.append(("help", []))
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            groups.append((name.replace("-", "_"), [value] if equals else []))
        elif groups:
            groups[-1][1].append(word)
        else:
            raise InputError(f"{word!r} is not an option; options start with --, as in --help.")
    return [Flag(name, tuple(values)) for name, values in groups]


def gather(flags: Sequence[Flag], name: str) -> tuple[str, ...]:
    """Return the values of every flag called `name`, in order."""
    return tuple(value for flag in flags if flag.name == name for value in flag.values)
