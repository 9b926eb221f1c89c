"""`holdfast train`: fine-tune by a recipe and flags; the same command resumes a killed run."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from holdfast.commands.interval import ACCURACY, percent_with_interval
from holdfast.commands.layout import to_tree
from holdfast.commands.recipes import write_recipe
from holdfast.commands.settings import Interface
from holdfast.commands.table import paragraph, readable_bytes, table
from holdfast.implicit import PRESETS, parse_layers
from holdfast.record.run_record import no_better_than_majority
from holdfast.train import TrainConfig, TrainResult, fine_tune

ABOUT = (
    "Fine-tune a classifier, plain or with implicit connections. After a crash the same command "
    "resumes; after the end it only shows the result again."
)
SWITCHES = {
    "dry_run": "print the whole configuration as a recipe, and do nothing",
    "json": "print the result as one JSON object",
}
SOURCES = {
    "config": "recipe: a TOML file, or the name of one that comes with Holdfast; flags win over it",
    "preset": f"connection to start from: {', '.join(PRESETS)}; without it, the plain model",
}
INTERFACE = Interface("train", ABOUT, TrainConfig, SWITCHES, SOURCES, PRESETS)
DEEPEST = 1000  # no model is deeper: layers can be read before the model is


def run(argv: Sequence[str]) -> None:
    """Read the configuration, train, print what came out."""
    config, given = INTERFACE.read(argv)
    if config.connection is not None:
        parse_layers(config.connection.layers, DEEPEST)
    if "dry_run" in given:
        print(write_recipe(to_tree(config)), end="")
        return
    with redirect_stdout(sys.stderr):  # stdout is for the result, whoever else prints
        result = fine_tune(config)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps(summary(result)) if "json" in given else shown(result))


def summary(result: TrainResult) -> dict[str, Any]:
    """Return the result as plain values."""
    return {
        "output": str(result.output),
        "model": str(result.model),
        "metrics": dict(result.metrics),
        "readings": [dict(reading) for reading in result.readings],
        "best_step": result.best_step,
        "seconds": result.seconds,
        "seconds_this_run": result.seconds_this_run,
        "peak_memory_bytes": result.peak_memory_bytes,
        "already_done": result.already_done,
    }


ONE = "one class %"
"""What stands above what always answering the most frequent class would score."""
UNLEARNT = (
    "On the validation examples the model is no better than always answering the most frequent "
    "class. Train longer (--optimisation.epochs), with a higher learning rate "
    "(--optimisation.learning_rate), or on more rows."
)


def shown(result: TrainResult) -> str:
    """Return the result for a reader: the numbers, the layers, the folder."""
    state = "was done already" if result.already_done else "done"
    cost = f"{result.seconds:.1f} s, {readable_bytes(result.peak_memory_bytes)} of memory"
    lines = [
        paragraph(f"{state}: {cost}, best checkpoint at step {result.best_step}"),
        "",
        table(*_measured(result)),
    ]
    if unlearnt(result):
        lines += ["", paragraph(UNLEARNT)]
    if result.readings:
        lines += ["", readings_table(result.readings)]
    return "\n".join([*lines, "", f"model: {result.model}"])


def _measured(result: TrainResult) -> tuple[list[str], list[list[str]]]:
    """Return the header and a row for each part; accuracy inside the hull where it was measured."""
    record = json.loads((result.output / "run.json").read_text(encoding="utf-8"))
    parts, metrics = record["data"]["parts"], result.metrics
    hull = "validation_hull_accuracy" in metrics
    rows = []
    for part in ("validation", "held_out"):
        if f"{part}_loss" in metrics:
            count = parts[part]["examples"]
            accuracy = percent_with_interval(metrics[f"{part}_accuracy"], count)
            row = [f"{part}, {count} examples", f"{metrics[f'{part}_loss']:.4f}", accuracy]
            row.append(f"{100 * result.majority[part]:.1f}" if part in result.majority else "")
            if hull:
                held = metrics[f"{part}_hull_accuracy"]
                attacked = min(count, record["config"]["selection"]["attacked"])
                row.append(percent_with_interval(held, attacked))
            rows.append(row)
    return ["measured on", "loss", ACCURACY, ONE, *(["in the hull %"] if hull else [])], rows


def unlearnt(result: TrainResult) -> bool:
    """Whether the validation examples do not show that the model knows more than one answer."""
    accuracy = result.metrics.get("validation_accuracy")
    return no_better_than_majority(accuracy, result.majority.get("validation"))


def readings_table(readings: Sequence[Mapping[str, Any]]) -> str:
    """Return what each connected layer reached: the relative residual, and what it cost."""
    header = ["layer", "residual before", "after", "evaluations", "converged"]
    rows = [
        [
            str(reading["layer"]),
            f"{reading['residual_before']:.2e}",
            f"{reading['residual_after']:.2e}",
            f"{reading['evaluations']:g}",
            f"{reading['converged']:.0%}",
        ]
        for reading in readings
    ]
    return table(header, rows)
