"""A connected model shared by two processes learns what one process learns."""

import subprocess
import sys
from pathlib import Path

import implicit_process
import torch
from implicit_process import CONNECTIONS, LENGTHS, PROCESSES, WRAPPERS
from safetensors.torch import load_file
from torch import Tensor


def run_processes(folder: Path) -> dict[str, Tensor]:
    meeting, result = folder / "meeting", folder / "result.safetensors"
    command = [sys.executable, str(Path(implicit_process.__file__))]
    running = [
        subprocess.Popen(
            [*command, str(rank), str(meeting), str(result)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(PROCESSES)
    ]
    try:
        told = [process.communicate(timeout=300)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * PROCESSES, "\n".join(told)
    return load_file(result)


# One test for all: starting two processes costs more than everything they do.
def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    found = run_processes(tmp_path)
    for connection in CONNECTIONS:
        model = implicit_process.connected_model(connection)
        start = {name: value.detach().clone() for name, value in model.named_parameters()}
        wanted = implicit_process.train(model, slice(0, len(LENGTHS)))
        moved = [float((wanted[name] - value).abs().max()) for name, value in start.items()]
        assert max(moved) > 1e-3, "nothing was learnt"
        for how in WRAPPERS:
            for name, value in wanted.items():
                key = f"{how}/{connection}/{name}"
                torch.testing.assert_close(found[key], value, rtol=0, atol=1e-5, msg=key)
