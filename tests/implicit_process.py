"""One of two processes that share the work of a connected model; started by the tests.

    python implicit_process.py RANK MEETING_FILE RESULT_FILE

It trains for two steps with each connection, once under DDP and once under FSDP2, on its half of
the batch, and the first process writes the losses and the weights that came out.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from families import batch, classifier
from safetensors.torch import save_file
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from holdfast.implicit import Connection, connect, find_layers, im_bert, recommended
from holdfast.solve import ImplicitFunction, Unrolled

PROCESSES = 2
LENGTHS, LABELS = (9, 6, 8, 5), torch.tensor([0, 1, 1, 0])
keep = replace(recommended, on_failure="keep")
CONNECTIONS: Mapping[str, Connection] = {
    "phantom": keep,
    "implicit": replace(keep, gradient=ImplicitFunction()),
    "unrolled": replace(keep, gradient=Unrolled()),
    "paper": im_bert,
}


def connected_model(name: str) -> nn.Module:
    model = classifier("bert", attention="sdpa" if name == "phantom" else "eager")
    connect(model, CONNECTIONS[name])
    return model


def train(model: nn.Module, rows: slice) -> dict[str, Tensor]:
    """Take two plain steps on these rows of the batch; return losses and weights."""
    inputs = {key: value[rows] for key, value in batch(LENGTHS).items()}
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        loss = model(**inputs, labels=LABELS[rows]).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), **{n: whole(p) for n, p in model.named_parameters()}}


def whole(parameter: Tensor) -> Tensor:
    full = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
    return full.detach().clone()


def replicated(model: nn.Module) -> nn.Module:
    return DistributedDataParallel(model)


def sharded(model: nn.Module) -> nn.Module:
    mesh = init_device_mesh("cpu", (PROCESSES,))
    for layer in find_layers(model):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def checkpointed_and_sharded(model: nn.Module) -> nn.Module:
    model.train()
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return sharded(model)


WRAPPERS: Mapping[str, Callable[[nn.Module], nn.Module]] = {
    "ddp": replicated,
    "fsdp": sharded,
    "checkpointed fsdp": checkpointed_and_sharded,
}


def main(rank: int, meeting: Path, result: Path) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=meeting.as_uri(), rank=rank, world_size=PROCESSES
    )
    size = len(LENGTHS) // PROCESSES
    rows = slice(rank * size, (rank + 1) * size)
    found = {}
    for how, wrap in WRAPPERS.items():
        for name in CONNECTIONS:
            trained = train(wrap(connected_model(name)), rows)
            distributed.all_reduce(trained["losses"])
            trained["losses"] /= PROCESSES
            found |= {f"{how}/{name}/{k.removeprefix('module.')}": v for k, v in trained.items()}
    if rank == 0:
        save_file(found, result)
    distributed.barrier()  # one that leaves while the other still talks can end it
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
