"""The demo's result for a reader at a terminal."""

import shlex
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.commands.interval import ACCURACY, percent_with_interval
from holdfast.commands.table import paragraph, readable_bytes, table, terminal_width

READING = (
    "How to read it: where the intervals of two accuracies overlap, these sentences cannot tell "
    "the models apart; where a residual falls, the layer's equation was solved, and where it "
    "rises, it was not. The model on canonical text reads most of the words that PWWS exchanges "
    "here as one; against other words that is no help. A few hundred sentences train no good "
    "model: this shows the way, not what it leads to."
)

METRICS = ("accuracy", "accuracy_under_attack")

Readings = Sequence[Mapping[str, Any]]


def demo_text(record: Mapping[str, Any], folder: Path) -> str:
    """Return the table of the models, that of their layers, and where everything is."""
    return "\n".join(
        [
            table(
                ["model", ACCURACY, "under PWWS %", "median residual", "seconds", "memory"],
                _models(record),
            ),
            paragraph(
                f"Accuracy on {record['examples']['test']} sentences held out of training, with "
                f"its interval; always the commonest label: {100 * record['majority']:.1f}. Under "
                f"PWWS, which replaces words by synonyms of WordNet, on {_attacked(record)} of "
                "them; each success was checked again."
            ),
            "",
            table(["layer", "implicit model", "paper's descent", "Anderson"], _layers(record)),
            paragraph(
                "Relative residual of each layer's equation, at the start -> after the solve. The "
                "last two columns solve the paper's equation in the plain model: by its own 5 "
                "descent steps, each an evaluation of the layer and a backward pass, and by "
                f"Anderson in {_evaluations(record['solvers']['anderson'])} evaluations."
            ),
            "",
            f"{record['seconds']:.0f} seconds in all. Written to {folder}:",
            *(f"  {name}" for name in record["files"]),
            "",
            paragraph(READING),
            "",
            "Try next:",
            *map(_command, _next(folder)),
            "",
            "Open the report in a browser:",
            f"  {folder / record['report']}",
        ]
    )


def _next(folder: Path) -> list[list[str]]:
    """Return two commands for the models that were made, each as parts that stay together."""
    plain, implicit = (shlex.quote(str(folder / name / "model")) for name in ("plain", "implicit"))
    return [
        [f"{_program()} predict", f"--model {plain}", '"A gripping film."'],
        [f"{_program()} inspect", f"--model {implicit}", '--text "A gripping film." "Dull."'],
    ]


def _command(parts: Sequence[str]) -> str:
    """Return a command to copy, in one line where the terminal has room for it."""
    line = "  " + " ".join(parts)
    return line if len(line) <= terminal_width() else "  " + " \\\n    ".join(parts)


def _program() -> str:
    """Return what to type: `make demo` leaves the command in .venv/bin, not in the path."""
    started = Path(sys.argv[0])
    outside = started.name == "holdfast" and shutil.which("holdfast") is None
    return shlex.quote(str(started)) if outside else "holdfast"


def _models(record: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            *(_share(record["evaluated"][name][metric]) for metric in METRICS),
            _median_residual(run["readings"]),
            f"{run['seconds']:.0f}",
            readable_bytes(run["peak_memory_bytes"]),
        ]
        for name, run in record["runs"].items()
    ]


def _share(metric: Mapping[str, Any]) -> str:
    return percent_with_interval(metric["value"], metric["total"])


def _attacked(record: Mapping[str, Any]) -> int:
    return int(record["evaluated"]["plain"]["accuracy_under_attack"]["total"])


def _median_residual(readings: Readings) -> str:
    if not readings:
        return "-"
    before, after = (
        statistics.median(reading[name] for reading in readings)
        for name in ("residual_before", "residual_after")
    )
    return _arrow(before, after)


def _layers(record: Mapping[str, Any]) -> list[list[str]]:
    solvers = record["solvers"]
    own = {reading["layer"]: reading for reading in record["runs"]["implicit"]["readings"]}
    return [
        [
            str(descent["layer"]),
            _residuals(own[descent["layer"]]) if descent["layer"] in own else "-",
            _residuals(descent),
            _residuals(anderson),
        ]
        for descent, anderson in zip(solvers["descent"], solvers["anderson"], strict=True)
    ]


def _residuals(reading: Mapping[str, Any]) -> str:
    return _arrow(reading["residual_before"], reading["residual_after"])


def _arrow(before: float, after: float) -> str:
    return f"{before:.3f} -> {after:.3f}"


def _evaluations(readings: Readings) -> str:
    counts = [reading["evaluations"] for reading in readings]
    low, high = f"{min(counts):g}", f"{max(counts):g}"
    return low if low == high else f"{low} to {high}"
