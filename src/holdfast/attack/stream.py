"""Outcomes as JSON lines, written as they finish: a killed run goes on where it stopped.

Each process appends to a file of its own beside the one asked for. When every example has its
outcome somewhere, the first process sorts them into one file, which then is the same however
often the run was interrupted and however many processes shared it.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.attack.certify import provable
from holdfast.attack.core import Attack, describe
from holdfast.attack.run import run_attack
from holdfast.data import Example
from holdfast.errors import InputError, RunFailed
from holdfast.record import Outcome
from holdfast.record.files import written_atomically
from holdfast.victim import GivenVictim, Victim, as_victim

FORMAT = 1
_PATIENCE = 1.0  # seconds between two looks at what the other processes wrote
_SILENCE = 3600.0  # seconds without a new outcome after which the other processes are given up


class _Line(NamedTuple):
    """Where the outcome of one example stands."""

    file: Path
    start: int
    end: int


@dataclass(frozen=True)
class Process:
    """Which of several processes this is; they share the disk, and nothing else."""

    rank: int = 0
    count: int = 1

    @classmethod
    def of_environment(cls) -> "Process":
        """Return what torchrun or `accelerate launch` says."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))


def attack_to_file(
    attack: Attack,
    victim: GivenVictim,
    examples: Sequence[Example],
    path: Path,
    *,
    seed: int,
    in_flight: int = 256,
    workers: int = 0,
    certify: bool = False,
    process: Process | None = None,
    watch: Callable[[Outcome], None] = lambda outcome: None,
) -> Path:
    """Attack `examples` and return `path`, which then holds a header and an outcome a line.

    `watch` is told each outcome, those of an earlier run that is continued too. In a process that
    is not the first, `path` may not exist yet on return. The first waits for the others, and
    raises `RunFailed` when nothing comes from them any more.
    """
    process, victim = process or Process.of_environment(), as_victim(victim)
    header = _header(attack, victim, examples, seed)
    if certify and provable(attack, victim) is not None:
        header["certify"] = True
    if path.exists():
        _require_header(path, header)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    done = _written(path, header)
    own = [example for example in examples[process.rank :: process.count] if example.id not in done]
    for line in done.values() if process.count == 1 else ():
        watch(_outcome(line))
    if own:
        found = run_attack(
            *(attack, victim, own),
            seed=seed,
            in_flight=in_flight,
            workers=workers,
            certify=certify,
        )
        part = path.with_name(f".{path.name}.{process.rank}-of-{process.count}.part")
        _append(part, header, found, watch)
    if process.rank == 0:
        _merge(path, header, examples, process)
    return path


def read_outcomes(path: Path) -> Iterator[Outcome]:
    """Yield the outcomes of a finished file."""
    for _, line in _lines(path):
        yield Outcome.from_json(json.loads(line))


def _header(
    attack: Attack, victim: Victim, examples: Sequence[Example], seed: int
) -> dict[str, Any]:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps([example.id, example.texts, example.label]).encode() + b"\n")
    if len({example.id for example in examples}) < len(examples):
        raise InputError("Two examples have the same id; give each example one of its own.")
    return {
        "outcomes": FORMAT,
        "attack": describe(attack),
        "victim": victim.fingerprint,
        "seed": seed,
        "examples": len(examples),
        "data_sha256": digest.hexdigest(),
    }


def _require_header(path: Path, header: dict[str, Any]) -> None:
    with path.open("rb") as file:
        first = file.readline()
    try:
        found = json.loads(first)
    except ValueError:
        found = None
    if found != json.loads(json.dumps(header)):
        raise InputError(
            f"{path} holds something else than this attack with this victim, data and seed, proofs "
            "where these are asked for (certify); choose another output, or remove it."
        )


def _lines(path: Path) -> Iterator[tuple[_Line, bytes]]:
    """Yield the whole lines after the header; a last line without its end was torn by a kill."""
    with path.open("rb") as file:
        start = len(file.readline())
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield _Line(path, start, start + len(line)), line
            start += len(line)


def parts_of(path: Path, process: Process | None = None) -> list[Path]:
    """Return what processes, or one of them, wrote beside `path` and nobody has merged yet.

    A pattern for the shell would take brackets of a name for its own, and `.a.b.0-of-1.part`, which
    belongs to `a.b`, for a part of `a`.
    """
    own = "[0-9]+-of-[0-9]+" if process is None else f"{process.rank}-of-{process.count}"
    named = re.compile(rf"\.{re.escape(path.name)}\.{own}\.part")
    return sorted(part for part in path.parent.glob(".*.part") if named.fullmatch(part.name))


def _written(path: Path, header: dict[str, Any]) -> dict[str, _Line]:
    """Find the outcomes that this or an earlier run wrote beside `path`."""
    found: dict[str, _Line] = {}
    for part in parts_of(path):
        with part.open("rb") as file:
            begun = file.readline().endswith(b"\n")
        if begun:  # or it was torn before anything was done
            _require_header(part, header)
            for where, line in _lines(part):
                found.setdefault(json.loads(line)["id"], where)
    return found


def _outcome(line: _Line) -> Outcome:
    with line.file.open("rb") as file:
        file.seek(line.start)
        return Outcome.from_json(json.loads(file.read(line.end - line.start)))


def _append(
    part: Path,
    header: dict[str, Any],
    outcomes: Iterator[Outcome],
    watch: Callable[[Outcome], None],
) -> None:
    """Write each outcome when it is there; the system keeps it even if this process is killed."""
    with part.open("ab") as file:
        sound = _sound_length(part)
        file.truncate(sound)
        if not sound:
            file.write(_json_line(header))
        for outcome in outcomes:
            file.write(_json_line(outcome.to_json()))
            file.flush()
            watch(outcome)
        os.fsync(file.fileno())


def _sound_length(part: Path) -> int:
    """Return how much of the file is whole lines."""
    content = part.read_bytes()
    return content.rfind(b"\n") + 1


def _json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _merge(
    path: Path, header: dict[str, Any], examples: Sequence[Example], process: Process
) -> None:
    """Wait until all outcomes are written, and put them into one file in the examples' order."""
    lines = _all_written(path, header, examples, process)
    with written_atomically(path) as file:
        file.write(_json_line(header))
        for example in examples:
            where = lines[example.id]
            with where.file.open("rb") as part:
                part.seek(where.start)
                file.write(part.read(where.end - where.start))
    for part_file in parts_of(path):
        part_file.unlink()


def _all_written(
    path: Path, header: dict[str, Any], examples: Sequence[Example], process: Process
) -> dict[str, _Line]:
    """Return where each outcome stands, once they are all there."""
    count, since = -1, time.monotonic()
    while True:
        lines = _written(path, header)
        missing = [at for at, example in enumerate(examples) if example.id not in lines]
        if not missing:
            return lines
        if len(lines) > count:
            count, since = len(lines), time.monotonic()
        elif time.monotonic() - since > _SILENCE:
            raise _given_up(path, missing, process)
        time.sleep(_PATIENCE)


def _given_up(path: Path, missing: Sequence[int], process: Process) -> RunFailed:
    ranks = sorted({at % process.count for at in missing})
    named = ", ".join(map(str, ranks))
    return RunFailed(
        f"{len(missing)} examples have no outcome in {path}, those of the process(es) {named} of "
        f"{process.count} (counted from 0), and none came for {_SILENCE / 60:.0f} minutes; see why "
        "they ended and give the same command again: what is written is kept."
    )
