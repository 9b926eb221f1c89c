"""Settings one by one, to say in which of them two runs differ."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting of nested ones with its dotted name."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from leaves(below, f"{name}.{key}" if name else key)
    else:
        yield name, value


def differing(before: Any, now: Any) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, with what they were and what they are; none: not there."""
    there, here = dict(leaves(before)), dict(leaves(now))
    pairs = {name: (there.get(name), here.get(name)) for name in {**here, **there}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def first_few(told: Sequence[str], most: int = 4) -> list[str]:
    """Return what is told of differences; of many the first."""
    return list(told) if len(told) <= most else [*told[:most], f"and {len(told) - most} more"]


def shown(value: Any) -> str:
    """Return a setting as a sentence has it."""
    return "not set" if value is None else str(value)


def same_place(one: Any, other: Any) -> bool:
    """Whether two settings name one file or folder, as seen from here."""
    paths = [Path(place).resolve() for place in (one, other) if isinstance(place, str)]
    return len(paths) == 2 and paths[0] == paths[1]
