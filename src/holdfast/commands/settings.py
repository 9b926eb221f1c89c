"""One frozen dataclass out of presets, recipes and flags.

Who wins: flags, then recipes from the last to the first, then the defaults of the dataclass.
`--preset NAME` is a flag for the whole connection; a recipe may name a preset too, on which its
`[connection]` section is laid. Values are read by `jsonargparse` with the type of their field,
and the whole is built by `holdfast.record.decode`, as a saved configuration is. The unions of
dataclasses are not left to `jsonargparse`: untagged, they leak settings of one class into another.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_origin, get_type_hints

from holdfast.commands.flags import Flag, free_surplus, split_flags
from holdfast.commands.layout import REQUIRED, Tree, choices, flatten, nearest, options
from holdfast.commands.parser import Table, help_text, parse_values
from holdfast.commands.settle import settle
from holdfast.errors import InputError
from holdfast.record import decode

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Interface(Generic[T]):
    """What a command takes: the fields of `config`, and options that are no part of it."""

    command: str
    about: str
    config: type[T]
    switches: Mapping[str, str]
    """Options without a value, and what each does."""
    sources: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of `config` and `preset` those the command takes, and what each does."""
    presets: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    free: str | None = None
    """The field of `config` that takes the words which belong to no option."""

    def read(self, argv: Sequence[str]) -> tuple[T, frozenset[str]]:
        """Return the configuration and the names of the switches given; `--help` ends here."""
        flags = self._split(argv)
        outside = [flag for flag in flags if flag.name in self._outside()]
        inside = [flag for flag in flags if flag not in outside]
        self._check_counts(outside)
        tree = settle(self.config, outside, inside, self.presets)
        table = {option.name: option for option in options(self.config, tree)}
        if any(flag.name == "help" for flag in outside):
            print(self.help(table, frozenset(_absent(self.config, tree))), end="")
            raise SystemExit(0)
        inside = [_canonical(flag, table) for flag in inside]
        self._refuse_unknown(inside, tree, table)
        values = parse_values(table, inside)
        self._refuse_missing(table, values)
        values.update(dict.fromkeys(_absent(self.config, tree)))
        return decode(self.config, values), frozenset(flag.name for flag in outside)

    def help(self, table: Table, unused: frozenset[str] = frozenset()) -> str:
        """Return the text of `--help`; `unused` are sections that nobody spoke of."""
        listed = {f"--{name} NAME": text for name, text in self.sources.items()}
        listed |= {f"--{name.replace('_', '-')}": text for name, text in self.switches.items()}
        listed["--help"] = "show this and exit; the options of the classes chosen are listed"
        words = f" [{self.free} ...]" if self.free else ""
        usage = f"holdfast {self.command} [options]{words}"
        return help_text(usage, self.about, listed, table, unused)

    def _split(self, argv: Sequence[str]) -> list[Flag]:
        flags = split_flags(argv, self.free)
        if self.free is None:
            return flags
        takes = dict.fromkeys(self.sources, 1) | dict.fromkeys((*self.switches, "help"), 0)
        for option in options(self.config, {}):
            if get_origin(option.type) is not tuple:
                takes[option.name] = 1
        return free_surplus(flags, self.free, takes)

    def _outside(self) -> set[str]:
        return {*self.sources, *self.switches, "help"}

    def _check_counts(self, outside: Sequence[Flag]) -> None:
        for flag in outside:
            wanted = 1 if flag.name in self.sources else 0
            if len(flag.values) != wanted:
                shown, given = flag.name.replace("_", "-"), " ".join(flag.values) or "none"
                count = "one value" if wanted else "no value"
                raise InputError(f"--{shown} takes {count}; got {given}.")

    def _refuse_unknown(self, flags: Sequence[Flag], tree: Tree, table: Table) -> None:
        listing = f"holdfast {self.command} --help lists them all."
        known = [*(name.removesuffix(".type") for name in table), *self._outside()]
        for flag in flags:
            if flag.name not in table:
                shown = [f"--{name}" for name in known]
                hint = nearest(f"--{flag.name}", shown, listing)
                raise InputError(f"There is no option --{flag.name}; {hint}")
        for name in flatten(tree):
            if name not in table and name.rpartition(".")[2] != "type":
                hint = nearest(name, known, listing)
                raise InputError(f"The recipe sets {name}, which does not exist; {hint}")

    def _refuse_missing(self, table: Table, values: Mapping[str, Any]) -> None:
        required = [name for name, option in table.items() if option.default is REQUIRED]
        if missing := [f"--{name}" for name in required if values.get(name) is None]:
            raise InputError(
                f"holdfast {self.command} needs {' and '.join(missing)}; "
                f"holdfast {self.command} --help tells more."
            )


def _canonical(flag: Flag, table: Table) -> Flag:
    """Read `--connection.solver Anderson` as `--connection.solver.type Anderson`, and `--data D`,
    as the other commands call it, as `--data.folder D`.
    """
    for full in (f"{flag.name}.type", f"{flag.name}.folder"):
        if full in table and flag.name not in table:
            return Flag(full, flag.values)
    return flag


def _absent(config: Any, tree: Tree) -> Iterator[str]:
    """Yield the optional sections that nobody spoke of: they stay None."""
    hints = get_type_hints(config)
    for field in dataclasses.fields(config):
        if field.default is None and choices(hints[field.name]) and field.name not in tree:
            yield field.name
