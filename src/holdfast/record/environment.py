"""What a result was made with: versions, commit, machine. Never imports torch."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "accelerate", "datasets", "safetensors", "numpy")


def describe_environment() -> dict[str, Any]:
    """Return the versions and the machine as a plain dictionary for a record."""
    return {
        "holdfast": version(),
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _installed(name))},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }


def version() -> str:
    """Return the installed version of Holdfast, or "unknown" when run from bare sources."""
    return _installed("holdfast") or "unknown"


def commit() -> str | None:
    """Return the commit of the checkout Holdfast runs from; None for an installed wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
