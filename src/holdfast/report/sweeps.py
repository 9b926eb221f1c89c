"""What one setting does while all others stay: iterations T, layers, alpha, beta, theta.

A sweep is found, not declared: trainings whose configurations are equal but for that setting,
the seed and the folder they were written to.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.record import RunRecord
from holdfast.report.cells import Cells
from holdfast.report.columns import heading
from holdfast.report.content import Block, Figure, Section
from holdfast.report.line_figure import Axis, Line, line_figure
from holdfast.report.scores import ADVGLUE, Column, Measurement

Json = Mapping[str, Any]
MOST_FIGURES = 9
SETTINGS: dict[str, tuple[tuple[str, ...], ...]] = {
    "iterations T": (("connection", "solver", "steps"), ("connection", "solver", "max_steps")),
    "layers": (("connection", "layers"),),
    "alpha": (("objective", "alpha"),),
    "beta": (("objective", "beta"),),
    "theta": (("connection", "scheme", "theta"),),
}
"""Setting to where a TrainConfig may have it."""
_IDENTITY = ("seed", "output")  # in which trainings of one configuration differ


@dataclass(frozen=True)
class Sweep:
    """Trainings that differ in one setting: its values, and what was measured at each."""

    setting: str
    family: str
    """The rest of the configuration, as JSON."""
    points: tuple[tuple[float | str, tuple[Measurement, ...]], ...]
    """In the order of the values."""


def sweeps(cells: Cells, columns: Sequence[Column]) -> Section | None:
    """Return a figure for each sweep on each task, a line for each column."""
    found: dict[tuple[str, str, str], list[tuple[Column, Sweep]]] = defaultdict(list)
    for column in columns:
        for sweep in find_sweeps(_of_column(cells, column)):
            task = column.task.removeprefix(f"{ADVGLUE}/")
            found[task, sweep.setting, sweep.family].append((column, sweep))
    if not found:
        return None
    figures: list[Block] = [
        _figure(cells, number, *key, members)
        for number, (key, members) in enumerate(list(found.items())[:MOST_FIGURES])
    ]
    lead = (
        "Trainings that differ in one setting alone, found by comparing their configurations. "
        "Bands are 95 % intervals."
    )
    if len(found) > MOST_FIGURES:
        lead += f" Drawn are the first {MOST_FIGURES} of {len(found)} sweeps."
    return Section("sweeps", "What one setting does", lead, tuple(figures))


def _of_column(cells: Cells, column: Column) -> list[Measurement]:
    return [one for (_, c), found in cells.found.items() if c == column for one in found]


def curves(records: Iterable[RunRecord]) -> list[list[str]]:
    """Return the models of each sweep in the order of its setting, for a line to join them."""
    lists: list[list[str]] = []
    members: dict[tuple[str, str], dict[float | str, list[str]]] = _families(
        records, lambda record: record.training, lambda record: record.model
    )
    for values in members.values():
        names = [list(dict.fromkeys(values[value])) for value in _ordered(values)]
        if len(names) > 1 and all(len(one) == 1 for one in names):
            lists.append([one[0] for one in names])
    return lists


def find_sweeps(measurements: Iterable[Measurement]) -> list[Sweep]:
    """Return the sweeps among some measurements of one column."""
    found: dict[tuple[str, str], dict[float | str, list[Measurement]]] = _families(
        measurements, lambda one: one.record.training, lambda one: one
    )
    return [
        Sweep(setting, family, tuple((v, tuple(values[v])) for v in _ordered(values)))
        for (setting, family), values in found.items()
        if len(values) > 1
    ]


def _families(
    items: Iterable[Any],
    training_of: Callable[[Any], Json | None],
    kept: Callable[[Any], Any],
) -> dict[tuple[str, str], dict[float | str, list[Any]]]:
    """Sort items by setting and the rest of their configuration, then by the setting's value."""
    found: dict[tuple[str, str], dict[float | str, list[Any]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for item in items:
        for setting, value, rest in _settings(training_of(item)):
            found[setting, rest][value].append(kept(item))
    return found


def _settings(training: Json | None) -> Iterable[tuple[str, float | str, str]]:
    """Yield each setting a configuration has, its value, and the rest of the configuration."""
    if training is None:
        return
    for setting, paths in SETTINGS.items():
        for path in paths:
            value = _at(training, path)
            if value is not None:
                yield setting, _value(value), without(training, path)


def _at(config: Any, path: Sequence[str]) -> Any:
    for name in path:
        config = config.get(name) if isinstance(config, Mapping) else None
    return config


def _value(value: Any) -> float | str:
    if isinstance(value, int | float):
        return float(value)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def without(config: Json, path: Sequence[str] = ()) -> str:
    """Return a configuration as JSON, less one setting and what every training has of its own.

    What is null is left out, too: a record of before a setting came does not have it.
    """
    plain = {key: value for key, value in _told(config).items() if key not in _IDENTITY}
    return json.dumps(_less(plain, path), sort_keys=True, default=str)


def _told(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return config
    return {key: _told(value) for key, value in config.items() if value is not None}


def _less(config: Any, path: Sequence[str]) -> Any:
    if not path or not isinstance(config, Mapping):
        return config
    if len(path) == 1:
        return {key: value for key, value in config.items() if key != path[0]}
    return {k: _less(v, path[1:]) if k == path[0] else v for k, v in config.items()}


def _ordered(values: Iterable[float | str]) -> list[float | str]:
    numbers = sorted(value for value in values if isinstance(value, float))
    return [*numbers, *sorted(value for value in values if isinstance(value, str))]


def _figure(
    cells: Cells,
    number: int,
    task: str,
    setting: str,
    family: str,
    members: Sequence[tuple[Column, Sweep]],
) -> Figure:
    values = _ordered({value for _, sweep in members for value, _ in sweep.points})
    named = any(isinstance(value, str) for value in values)
    at = {value: float(n) if named else float(value) for n, value in enumerate(values)}
    lines = [_line(cells, column, sweep, at) for column, sweep in members]
    ticks = tuple(_tick(value) for value in values) if named else ()
    title = f"{task}: {setting}"
    x = Axis(setting, ticks=ticks, whole=setting == "iterations T")
    note = f"All of {_family_name(family)}." if _family_name(family) else ""
    slug = f"sweep-{task}-{setting}-{number}"
    return line_figure(slug, title, lines, x, Axis("accuracy", percent=True), note)


def _tick(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _line(cells: Cells, column: Column, sweep: Sweep, at: Mapping[float | str, float]) -> Line:
    points = [(at[value], cells.score_of(found)) for value, found in sweep.points]
    known = [(x, one) for x, one in points if one is not None]
    whole = all(one.low is not None for _, one in known)
    return Line(
        heading(column),
        tuple(x for x, _ in known),
        tuple(one.value for _, one in known),
        tuple(one.low or 0.0 for _, one in known) if whole else (),
        tuple(one.high or 0.0 for _, one in known) if whole else (),
    )


def _family_name(family: str) -> str:
    """Return the classes that a configuration names, such as ImplicitEuler, Descent, Rift."""
    config = json.loads(family)
    paths = (("connection", "scheme"), ("connection", "solver"), ("objective",), ("anchor",))
    names = [_at(config, (*path, "type")) for path in paths]
    return ", ".join(str(name) for name in names if name)
