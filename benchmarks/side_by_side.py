"""What the benchmarks share: timing alternatives in turn, a table, and a JSON file."""

import argparse
import json
import statistics
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from holdfast.implicit import im_bert
from holdfast.record import describe_environment
from holdfast.solve import Descent

ROOT = Path(__file__).resolve().parent.parent


def median_seconds(
    works: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int
) -> dict[str, float]:
    """Return the median seconds of each work; the works take turns, so that drift hits all."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(warm_up + rounds):
        for name, work in works.items():
            _wait()
            begin = time.perf_counter()
            work()
            _wait()
            if turn >= warm_up:
                taken[name].append(time.perf_counter() - begin)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak_bytes(work: Callable[[], object]) -> int | None:
    """Return the most device memory the work holds beyond what was held before; None on a CPU."""
    if not torch.cuda.is_available():
        return None
    torch.cuda.empty_cache()
    _wait()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    _wait()
    return torch.cuda.max_memory_allocated() - before


def device_name() -> str:
    """Return the accelerator's name, or the processor's threads."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} threads"


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows of equal keys as aligned columns."""
    print(f"\n{title}")
    head = list(rows[0])
    cells = [head, *([_cell(row[key]) for key in head] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def papers_descent() -> Descent:
    """Return the solver of the preset `im_bert`, without its evaluation for the record."""
    assert isinstance(im_bert.solver, Descent)
    return replace(im_bert.solver, measure=False)


def add_record_options(parser: argparse.ArgumentParser, output: Path) -> None:
    """Add where the results go, and the commit where git cannot be asked for it."""
    parser.add_argument("--output", type=Path, default=output)
    parser.add_argument("--commit", help="of the sources, where they are no checkout")


def environment(commit: str | None) -> dict[str, Any]:
    """Return the versions; those of bare sources come from their own files and `commit`."""
    found = describe_environment()
    if found["holdfast"] == "unknown":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        found["holdfast"] = project["project"]["version"]
    return {**found, "commit": commit or found["commit"]}


def write(path: Path, content: Mapping[str, Any], *, seed: int, commit: str | None = None) -> None:
    """Write the results with the device, versions and seed they were made with."""
    record = {
        "device": device_name(),
        "environment": environment(commit),
        "seed": seed,
        **content,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nWritten to {path}")
