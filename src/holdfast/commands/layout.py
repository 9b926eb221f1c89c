"""A dataclass seen as a list of options with dotted names, one for each leaf.

A field that holds a dataclass opens a section (`--data.task`). A field that may hold one of
several dataclasses is a choice, `--connection.solver.type`, and the section below it has the
settings of the class that was chosen; so no option is ever ambiguous about whose it is.
"""

import dataclasses
import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, get_args, get_type_hints

from holdfast.errors import InputError
from holdfast.record import encode

REQUIRED = dataclasses.MISSING
Tree = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Option:
    """One setting: its dotted name, the type of its value, and what it is without a flag."""

    name: str
    type: Any
    default: Any
    owner: type


def options(cls: type, tree: Tree, prefix: str = "") -> Iterator[Option]:
    """Yield the options of `cls`, where `tree` holds what recipes and presets settled so far."""
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        name, classes = prefix + field.name, choices(hints[field.name])
        default = encode(_default(field))
        if classes:
            yield from _section(name, cls, classes, merge(default, tree.get(field.name)))
        else:
            yield Option(name, hints[field.name], tree.get(field.name, default), cls)


def _section(name: str, owner: type, classes: Mapping[str, type], node: Any) -> Iterator[Option]:
    if node is None or node is REQUIRED:
        node = {}
    if not isinstance(node, Mapping):
        expected = " or ".join(classes)
        raise InputError(f"{name} is {node!r}; expected a section with the settings of {expected}.")
    chosen = node.get("type", next(iter(classes)))
    if chosen not in classes:
        raise InputError(f"{name} is {chosen!r}; {nearest(chosen, classes)}")
    if len(classes) > 1:
        yield Option(f"{name}.type", Literal[tuple(classes)], chosen, owner)
    yield from options(classes[chosen], node, f"{name}.")


def choices(hint: Any) -> dict[str, type]:
    """Return the dataclasses a value of this declared type may be, by name."""
    candidates = get_args(hint) or (hint,)
    classes = (item for item in candidates if isinstance(item, type))
    return {item.__name__: item for item in classes if dataclasses.is_dataclass(item)}


def merge(below: Any, above: Any) -> Any:
    """Return `below` overridden by `above`; a table that names another class starts afresh."""
    if not isinstance(above, Mapping) or not isinstance(below, Mapping):
        return below if above is None else above
    if above.get("type", below.get("type")) != below.get("type"):
        return above
    return {**below, **{key: merge(below.get(key), value) for key, value in above.items()}}


def nest(name: str, value: Any) -> dict[str, Any]:
    """Return `{"a": {"b": value}}` for the name `a.b`."""
    for key in reversed(name.split(".")):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def flatten(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of the leaves of `tree`."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def nearest(name: Any, known: Collection[str], otherwise: str | None = None) -> str:
    """Return the end of an error sentence: what was probably meant, or what there is.

    Of a dotted name the end alone may have been meant: `epochs` of `optimisation.epochs`.
    """
    bare = {one.lstrip("-"): one for one in known}
    ends = {one.rpartition(".")[2]: full for one, full in reversed(bare.items())}
    if near := difflib.get_close_matches(str(name).lstrip("-"), (meant := ends | bare), n=1):
        return f"did you mean {meant[near[0]]}?"
    return otherwise or f"expected one of {', '.join(known)}."


def to_tree(config: Any) -> dict[str, Any]:
    """Return a configuration as a recipe holds it; only a choice names its class."""
    hints, tree = get_type_hints(type(config)), {}
    for field in dataclasses.fields(config):
        value, classes = getattr(config, field.name), choices(hints[field.name])
        if classes and value is not None:
            named = {"type": type(value).__name__} if len(classes) > 1 else {}
            tree[field.name] = named | to_tree(value)
        else:
            tree[field.name] = encode(value)
    return tree


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
