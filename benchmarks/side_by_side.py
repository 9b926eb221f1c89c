"""What the benchmarks share: timing alternatives in turn, a table, and a JSON file."""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from holdfast.record import describe_environment


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


def write(path: Path, content: Mapping[str, Any], *, seed: int) -> None:
    """Write the results with the device, versions and seed they were made with."""
    record = {
        "device": device_name(),
        "environment": describe_environment(),
        "seed": seed,
        **content,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nWritten to {path}")
