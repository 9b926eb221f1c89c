"""Options to a `jsonargparse` parser: a field's type reads its value, its docstring explains it."""

import argparse
import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from holdfast.commands.flags import Flag, gather
from holdfast.commands.layout import REQUIRED, Option
from holdfast.errors import InputError

Table = Mapping[str, Option]

WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Path: "a path",
    type(None): "null",
}
SHARED = {
    "scheme": "The equation between a layer's input and its output",
    "solver": "How the equation is solved",
    "gradient": "How training differentiates the solution",
    "step": "How much of the layer's output is added",
    "theta": "Weight of the new state: 0 is the untouched model, 1 the implicit step",
    "max_steps": "Most evaluations of the layer in one solve",
    "tolerance": "Relative residual at which an example is solved",
    "damping": "Share of each step that is taken, above 0; 1 takes all of it",
    "steps": "Number of steps",
    "step_size": "Length of a step along the gradient",
    "norm": "What is descended on: a norm of the residual",
    "backward_solver": "How the equation of the gradient is solved",
}
"""Words for fields that several schemes, solvers and gradients share, where they have none."""
LONGEST_LIST = 26  # choices beside a flag; longer ones go into its text, to fit narrow terminals
PLACEHOLDERS = {int: "N", float: "X", bool: "[BOOL]", Path: "PATH"}


def parse_values(table: Table, flags: Sequence[Flag]) -> dict[str, Any]:
    """Return the value of every option as a nested dictionary: its flag's, or its default."""
    import jsonargparse

    parser = jsonargparse.ArgumentParser(exit_on_error=False, parser_mode="json", add_help=False)
    for option in table.values():
        default = None if option.default is REQUIRED else option.default
        parser.add_argument(f"--{option.name}", type=option.type, default=default)
    words = {flag.name: _word(table[flag.name], flags, _surplus(table)) for flag in flags}
    try:
        parsed = parser.parse_args([f"--{name}={word}" for name, word in words.items()])
    except jsonargparse.ArgumentError as error:
        raise InputError(_sentence(str(error), table, words)) from error
    values: dict[str, Any] = parsed.as_dict()
    return values


def _surplus(table: Table) -> str:
    """Return what to do with words that are too many behind an option."""
    return "; put --text before a sentence" if "text" in table else ""


def _word(option: Option, flags: Sequence[Flag], surplus: str) -> str:
    if get_origin(option.type) is tuple:
        return json.dumps(gather(flags, option.name))
    latest = [flag.values for flag in flags if flag.name == option.name][-1]
    if option.type is bool and not latest:
        return "true"
    if len(latest) != 1:
        given = " ".join(latest) + surplus if latest else "none"
        raise InputError(f"--{option.name} takes one value, {expected(option.type)}; got {given}.")
    return latest[0]


def _sentence(message: str, table: Table, words: Mapping[str, str]) -> str:
    found = re.search(r'Parser key "([^"]+)"', message)
    if found is None or found[1] not in words:
        return " ".join(message.split())
    name = found[1]
    return f"--{name} is {words[name]!r}; expected {expected(table[name].type)}."


def expected(kind: Any) -> str:
    """Return in words what a value of this type is."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return "one or more values"
    if parts := get_args(kind):
        return " or ".join(expected(part) for part in parts)
    return WORDS.get(kind, "a value")


def help_text(
    usage: str, about: str, plain: Mapping[str, str], table: Table, unused: Collection[str] = ()
) -> str:
    """Return the help of a command: one group for each section, wrapped to the terminal."""
    parser = argparse.ArgumentParser(usage=usage, description=about, add_help=False)
    groups = {"": parser.add_argument_group("options")}
    for name, text in plain.items():
        flag, _, placeholder = name.partition(" ")
        _add(groups[""], flag, placeholder, text)
    for option in table.values():
        name = option.name.removesuffix(".type")
        section = name.rpartition(".")[0]
        if section not in groups:
            about_section = _first_line(option.owner)
            if section in unused:
                about_section = f"{about_section.rstrip('.')}; not used unless an option is given"
            groups[section] = parser.add_argument_group(section, about_section)
        if_used = name.partition(".")[0] in unused
        text = _explanation(option, "if used" if if_used else "default")
        _add(groups[section], f"--{name}", _placeholder(option.type), text)
    return parser.format_help()


def _add(group: Any, flag: str, placeholder: str, text: str) -> None:
    escaped = text.replace("%", "%%")  # argparse expands % in help texts
    if placeholder:
        group.add_argument(flag, metavar=placeholder, help=escaped)
    else:
        group.add_argument(flag, action="store_true", help=escaped)


def _explanation(option: Option, word: str) -> str:
    from docstring_parser import parse_from_object

    field = option.name.removesuffix(".type").rpartition(".")[2]
    documented = {
        item.arg_name: item.description for item in parse_from_object(option.owner).params
    }
    text = " ".join((documented.get(field) or SHARED.get(field, "")).split()).rstrip(".")
    if _placeholder(option.type) == "NAME":
        text = f"{text}; {expected(option.type)}" if text else expected(option.type)
    if option.default is REQUIRED:
        return f"{text} (required)".strip()
    return f"{text} ({word}: {_shown(option.default)})".strip()


def _shown(default: Any) -> str:
    if isinstance(default, list | tuple):
        return " ".join(map(str, default)) or "none"
    return "none" if default is None else str(default)


def _placeholder(kind: Any) -> str:
    if get_origin(kind) is Literal:
        listed = "{" + ",".join(map(str, get_args(kind))) + "}"
        return listed if len(listed) <= LONGEST_LIST else "NAME"
    if get_origin(kind) is tuple:
        return f"{_placeholder(get_args(kind)[0])} ..."
    if parts := get_args(kind):
        return _placeholder(parts[0])
    return PLACEHOLDERS.get(kind, "TEXT")


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or cls.__name__).splitlines()[0].rstrip(":")
