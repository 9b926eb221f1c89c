"""The run.json of `holdfast train` (schema 1) as a RunRecord, with its curves from log.jsonl."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.record.run_record import Metric, RunRecord, Series
from holdfast.statistics import wilson

SCHEMA = 1

_CURVES = {
    ("loss", "train"): "loss",
    ("loss", "validation"): "eval_loss",
    ("accuracy", "validation"): "eval_accuracy",
    ("hull_accuracy", "validation"): "eval_hull_accuracy",
    ("distance", ""): "eval_distance",
}
"""Series and group to the name that log.jsonl has for it."""


def training_record(content: Mapping[str, Any], path: Path) -> RunRecord:
    """Return what the run.json at `path` holds."""
    try:
        return RunRecord(
            kind="training",
            model=path.resolve().parent.name,
            task=content["data"]["task"],
            seed=content["seed"],
            config=content["config"],
            training=content["config"],
            metrics=tuple(_metrics(content)),
            series=(*_residuals(content), *_curves(path.with_name("log.jsonl"))),
            checksums=_checksums(content),
            environment=content["environment"],
            device=content["device"],
            seconds=content["seconds"],
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} is no record of a training run ({reason}).") from error


def _metrics(content: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield the metrics; shares get the interval that their number of examples allows."""
    for key, value in content["metrics"].items():
        part, _, name = key.partition("_") if key.startswith("validation_") else ("", "", key)
        if key.startswith("held_out_"):
            part, name = "held_out", key.removeprefix("held_out_")
        total = content["data"]["parts"].get(part, {}).get("examples", 0)
        if name == "hull_accuracy":  # measured on so many drawn at random
            total = min(total, content["config"].get("selection", {}).get("attacked", 0))
        if name in ("accuracy", "hull_accuracy") and total:
            low, high = wilson(round(value * total), total)  # how many it was nobody noted
            yield Metric(name, value, low, high, total=total, group=part)
        else:
            yield Metric(name, value, group=part)


def _residuals(content: Mapping[str, Any]) -> Iterator[Series]:
    if readings := content["readings"]:
        layers = tuple(float(reading["layer"]) for reading in readings)
        after = tuple(float(reading["residual_after"]) for reading in readings)
        yield Series("residual", layers, after)


def _curves(log: Path) -> Iterator[Series]:
    """Yield the curves; without the file there are none, and a torn last line is left out."""
    lines = list(_lines(log)) if log.is_file() else []
    for (name, group), key in _CURVES.items():
        told = [line for line in lines if key in line and "step" in line]
        if told:
            steps = tuple(float(line["step"]) for line in told)
            yield Series(name, steps, tuple(float(line[key]) for line in told), group)


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            return
        if isinstance(found, dict):
            yield found


def _checksums(content: Mapping[str, Any]) -> dict[str, str]:
    parts = {f"data/{name}": part["sha256"] for name, part in content["data"]["parts"].items()}
    read = content["data"].get("sources", {})
    sources = {f"source/{name}": source["sha256"] for name, source in read.items()}
    lexicons = {f"lexicon/{k}": v for k, v in content.get("lexicons", {}).items() if v}
    return parts | sources | lexicons
