"""Runs that die, in processes of their own: forked from a server that has imported torch once."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from holdfast.train import RobustTrainer, TrainConfig, checkpoint, fine_tune, folder

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["holdfast.train", "transformers.models.bert.modeling_bert"])


def exit_code_of(target: Callable[..., None], *args: Any) -> int | None:
    """Run `target` in a new process and return how it ended."""
    process = _context.Process(target=target, args=args)
    process.start()
    process.join(timeout=120)
    if process.is_alive():
        process.kill()
    return process.exitcode


def _die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_in_step(config: TrainConfig, step: int) -> None:
    """Train until a step has computed its gradients, and die there."""
    train_step = RobustTrainer.training_step

    def dying(trainer: RobustTrainer, *args: Any, **kwargs: Any) -> torch.Tensor:
        loss = train_step(trainer, *args, **kwargs)
        if trainer.state.global_step == step - 1:
            _die()
        return loss

    with mock.patch.object(RobustTrainer, "training_step", dying):
        fine_tune(config, progress=False)


def killed_in_checkpoint(config: TrainConfig, step: int) -> None:
    """Train until the checkpoint of a step lacks its marker only, and die there."""
    mark = checkpoint.mark
    with mock.patch.object(checkpoint, "mark", lambda f, s: _die() if s == step else mark(f, s)):
        fine_tune(config, progress=False)


def killed_before_record(config: TrainConfig) -> None:
    """Train to the end, write the model, and die before the record."""
    write = folder.write_json

    def dying(path: Any, value: Any) -> None:
        return _die() if path.name == "run.json" else write(path, value)

    with mock.patch.object(folder, "write_json", dying):
        fine_tune(config, progress=False)
