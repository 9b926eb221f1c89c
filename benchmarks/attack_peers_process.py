"""A peer in an environment of its own: a process that is sent jobs and answers them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent / "peers"


class Peer:
    """A process in another environment that waits for jobs."""

    def __init__(self, python: Path, script: str, setting: Mapping[str, Any]) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - its life
        self._process = subprocess.Popen(
            [python, SCRIPTS / script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            | {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            text=True,
        )
        self.versions = self.ask(setting)

    def ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Send one job and wait for what came of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            self._errors.seek(0)
            sys.exit(f"The peer ended early:\n{self._errors.read()[-2000:]}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def end(self) -> None:
        """Let it go."""
        self._process.communicate()
        self._errors.close()
