"""Anchored models shared by two processes learn what one process learns."""

import multiprocessing
from pathlib import Path

import torch
import train_process  # noqa: F401  (what the processes are forked from)
from families import batch, classifier
from safetensors.torch import load_file, save_file
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.anchors import AnchorLike, Mixout, PretrainedDecay, RecAdam, Reference

PROCESSES = 2
LENGTHS, LABELS = (9, 6, 8, 5), torch.tensor([0, 1, 1, 0])
ANCHORS: dict[str, AnchorLike] = {
    "norm": PretrainedDecay(strength=0.5),
    "decoupled": PretrainedDecay(strength=10.0, kind="decoupled"),
    "mixout": Mixout(),
    "mixout by columns": Mixout(columns=True),
    "recadam": RecAdam(midpoint=2, strength=10.0),
}
NONE = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def train(anchor: AnchorLike, rows: slice) -> dict[str, Tensor]:
    """Take three steps on these rows; the seed gives every process the same masks."""
    model = classifier("bert", **NONE).train()
    reference = Reference.of(model)
    anchor.attach(model, reference)
    usual = (torch.optim.AdamW, {"lr": 1e-2, "eps": 1e-3})
    kind, settings = anchor.optimizer(usual, model, reference)
    optimizer = kind(model.parameters(), **settings)
    together = distributed.is_initialized()
    wrapped: nn.Module = (
        # as Trainer wraps a model: it cannot know that every parameter is used
        DistributedDataParallel(model, find_unused_parameters=True) if together else model
    )
    inputs = {key: value[rows] for key, value in batch(LENGTHS).items()}
    torch.manual_seed(5)
    for _ in range(3):
        loss = wrapped(**inputs, labels=LABELS[rows]).loss
        penalty = anchor.penalty(model, reference)
        optimizer.zero_grad()
        (loss if penalty is None else loss + penalty).backward()
        optimizer.step()
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def share(rank: int, meeting: Path, result: Path) -> None:
    """Train on a share of the rows, beside the other process."""
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=meeting.as_uri(), rank=rank, world_size=PROCESSES
    )
    size = len(LENGTHS) // PROCESSES
    rows = slice(rank * size, (rank + 1) * size)
    found = {
        f"{name}/{parameter}": value
        for name, anchor in ANCHORS.items()
        for parameter, value in train(anchor, rows).items()
    }
    if rank == 0:
        save_file(found, result)
    distributed.destroy_process_group()


def test_two_processes_learn_what_one_does(tmp_path):
    meeting, result = tmp_path / "meeting", tmp_path / "result.safetensors"
    context = multiprocessing.get_context("forkserver")
    running = [
        context.Process(target=share, args=(rank, meeting, result)) for rank in range(PROCESSES)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(timeout=120)
    ended = [process.exitcode for process in running]
    for process in running:
        process.kill()  # one that still waits for the other
    assert ended == [0] * PROCESSES
    found = load_file(result)
    for name, anchor in ANCHORS.items():
        for parameter, expected in train(anchor, slice(None)).items():
            ours = found[f"{name}/{parameter}"]
            torch.testing.assert_close(
                ours, expected, rtol=1e-3, atol=1e-5, msg=f"{name} {parameter}"
            )
