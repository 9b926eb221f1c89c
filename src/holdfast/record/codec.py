"""Frozen dataclasses to JSON and back: a component is its own configuration file.

A value whose declared type is a union of dataclasses is tagged with its class name,
`{"type": "Anderson", "memory": 5}`, so that decoding needs nothing but the declared type.
"""

import dataclasses
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from holdfast.errors import InputError

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Return `value` as plain JSON; every dataclass carries the name of its class."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def decode(expected: type[T] | Any, value: Any, *, where: str = "the configuration") -> T:
    """Return `value` as an instance of `expected`, refusing names that it does not have."""
    result: T = _decode(expected, value, where)
    return result


def _decode(expected: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(expected):
        return _decode_dataclass(expected, value, where)
    origin = get_origin(expected)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(expected), value, where)
    if origin is tuple:
        return _decode_tuple(get_args(expected)[0], value, where)
    if origin is Literal and value not in get_args(expected):
        options = ", ".join(map(str, get_args(expected)))
        raise InputError(f"{where} is {value!r}; expected one of {options}.")
    if expected is Path:
        return Path(value)
    return _decode_scalar(expected, value, where)


def _decode_tuple(expected: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{where} is {value!r}; expected a list.")
    return tuple(_decode(expected, item, where) for item in value)


def _decode_scalar(expected: Any, value: Any, where: str) -> Any:
    if expected is float and type(value) is int:
        return float(value)
    if expected in (int, float, str, bool) and type(value) is not expected:
        raise InputError(f"{where} is {value!r}; expected {expected.__name__}.")
    return value


def _decode_union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in options:
        return None
    if isinstance(value, Mapping):
        if any(get_origin(option) is Mapping for option in options):
            return value  # plain JSON, which nobody has to understand here
        classes = {
            o.__name__: o for o in options if isinstance(o, type) and dataclasses.is_dataclass(o)
        }
        name = value.get("type", next(iter(classes)) if len(classes) == 1 else None)
        if name not in classes:
            raise InputError(f"{where} has type {name!r}; expected one of {', '.join(classes)}.")
        return _decode_dataclass(classes[name], value, where)
    for option in (option for option in options if option is not type(None)):
        try:
            return _decode(option, value, where)
        except InputError:
            continue
    raise InputError(f"{where} is {value!r}, which fits none of the types it may have.")


def _decode_dataclass(expected: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise InputError(f"{where} is {value!r}; expected the fields of {expected.__name__}.")
    if value.get("type", expected.__name__) != expected.__name__:
        raise InputError(f"{where} has type {value['type']!r}; expected {expected.__name__}.")
    hints = get_type_hints(expected)
    names = [field.name for field in dataclasses.fields(expected)]
    given = {key: item for key, item in value.items() if key != "type"}
    if unknown := sorted(set(given) - set(names)):
        raise InputError(
            f"{where} has no setting {', '.join(unknown)}; "
            f"{expected.__name__} takes {', '.join(names) or 'none'}."
        )
    decoded = {key: _decode(hints[key], item, f"{where}.{key}") for key, item in given.items()}
    try:
        return expected(**decoded)
    except TypeError as error:
        raise InputError(f"{where} is incomplete: {error}.") from error
