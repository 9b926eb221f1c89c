"""The words of a command line, grouped into flags and their values."""

from collections.abc import Mapping, Sequence
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


def split_flags(argv: Sequence[str], free: str | None = None) -> list[Flag]:
    """Return the flags of `argv` in order; `--a b c`, `--a=b` and `-h` are understood.

    Words before the first flag and after `--` belong to the flag `free`, if there is one.
    """
    groups: list[tuple[str, list[str]]] = [] if free is None else [(free, [])]
    ended = list(argv).index("--") if free is not None and "--" in argv else len(argv)
    for word in argv[:ended]:
        if word == "-h":
            groups.append(("help", []))
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            groups.append((name.replace("-", "_"), [value] if equals else []))
        elif groups:
            groups[-1][1].append(word)
        else:
            raise InputError(f"{word!r} is not an option; options start with --, as in --help.")
    if free is not None:
        groups.append((free, list(argv[ended + 1 :])))
    return [Flag(name, tuple(values)) for name, values in groups]


def free_surplus(flags: Sequence[Flag], free: str, takes: Mapping[str, int]) -> list[Flag]:
    """Hand the words a flag does not take, counted by `takes`, on to the flag `free`."""
    kept = []
    for flag in flags:
        count = takes.get(flag.name, len(flag.values))
        kept += [Flag(flag.name, flag.values[:count]), Flag(free, flag.values[count:])]
    return [flag for flag in kept if flag.name != free or flag.values]


def gather(flags: Sequence[Flag], name: str) -> tuple[str, ...]:
    """Return the values of every flag called `name`, in order."""
    return tuple(value for flag in flags if flag.name == name for value in flag.values)
