"""What the objectives' tests share: a batch an adversary can work on, and ways to run a loss."""

import multiprocessing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from families import END, PAD, VOCABULARY, batch, classifier
from safetensors.torch import load_file, save_file
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.adversary import ConvexHull
from holdfast.implicit import Connection, ImplicitEuler, Theta
from holdfast.objectives import Loss, Objective
from holdfast.solve import Anderson, Phantom

LENGTHS, SLOTS = (7, 4, 6, 5), 4
FAMILIES = ("bert", "roberta", "distilbert", "deberta-v2", "modernbert", "gpt2", "t5")
CONNECTIONS: Mapping[str, Connection] = {
    "theta": Connection(
        scheme=Theta(), solver=Anderson(), gradient=Phantom(), dropout="off", on_failure="keep"
    ),
    "euler": Connection(
        layers="2", scheme=ImplicitEuler(step=0.5), dropout="off", on_failure="keep"
    ),
}


def adversarial_batch(
    lengths: tuple[int, ...] = LENGTHS, *, seed: int = 0, left: bool = False
) -> dict[str, Tensor]:
    """Return padded sentences with labels in turn, movable tokens and substitutes for most."""
    inputs = batch(lengths, left=left, seed=seed)
    ids = inputs["input_ids"]
    movable = (ids != PAD) & (ids != END)
    labels = torch.arange(len(lengths)) % 2
    return {**inputs, "labels": labels, "movable": movable.long(), **candidates(ids, movable, seed)}


def candidates(ids: Tensor, movable: Tensor, seed: int) -> dict[str, Tensor]:
    """Return up to SLOTS substitutes for each movable token; some tokens get none."""
    generator = torch.Generator().manual_seed(seed)
    others = torch.randint(5, VOCABULARY, (*ids.shape, SLOTS), generator=generator)
    filled = torch.randint(1, SLOTS + 1, (*ids.shape, 1), generator=generator)
    mask = (torch.arange(SLOTS) < filled) & movable.unsqueeze(2)
    others[..., 0], mask[..., 0] = ids, True
    return {"candidates": others * mask, "candidate_mask": mask}


def rows(whole: Mapping[str, Tensor], part: slice) -> dict[str, Tensor]:
    """Return some examples of a batch."""
    return {name: value[part] for name, value in whole.items()}


@dataclass(frozen=True)
class StillHull(ConvexHull):
    """A hull whose ascent begins with equal weights, so that nothing is drawn."""

    def start(self, embeds: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        return torch.zeros_like(super().start(embeds, batch))


def without_dropout(model: nn.Module) -> nn.Module:
    """Switch every dropout off for good: training mode then computes what eval mode does."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return model


def only_loss(
    objective: Objective, model: nn.Module, extras: nn.Module, inputs: Mapping[str, Tensor]
) -> Loss:
    """Return the one loss of an objective that yields one."""
    (loss,) = objective.losses(model, extras, inputs)
    return loss


def gradients(model: nn.Module, totals: Iterable[Tensor]) -> dict[str, Tensor]:
    """Return the gradients of the losses' sum, by the names of the parameters it reaches."""
    model.zero_grad()
    for total in totals:
        total.backward()
    found = {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    model.zero_grad()
    return found


def assert_same(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], atol: float) -> None:
    """Compare tensors by name."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(
            found[name], value, rtol=0, atol=atol, msg=lambda m, n=name: n + m
        )


def curve(
    objective: Objective, model: nn.Module, extras: nn.Module, *, halves: int = 1, steps: int = 4
) -> list[float]:
    """Return the losses of a few steps of SGD, each over a batch given in so many parts."""
    weights = [p for p in (*model.parameters(), *extras.parameters()) if p.requires_grad]
    optimiser = torch.optim.SGD(weights, lr=0.05)
    losses = []
    for step in range(steps):
        whole, total = adversarial_batch(seed=step), 0.0
        size = len(LENGTHS) // halves
        for part in range(halves):
            share = rows(whole, slice(part * size, (part + 1) * size))
            for loss in objective.losses(model, extras, share):
                (loss.total / halves).backward()
                total += float(loss.total.detach()) / halves
        optimiser.step()
        optimiser.zero_grad()
        losses.append(total)
    return losses


# -- two processes that share a batch ---------------------------------------------------------

PROCESSES = 2
SHARED = (7, 4, 6, 5, 6, 7, 5, 4)
SHARED_LABELS = (0, 0, 0, 1, 0, 1, 1, 1)
"""Of one class each process has a single text, so it must look at the other's."""


def shared_batch() -> dict[str, Tensor]:
    return {**adversarial_batch(SHARED), "labels": torch.tensor(SHARED_LABELS)}


def learnt(objective: Objective, model: nn.Module, rank: int | None = None) -> dict[str, Tensor]:
    """Take two steps, alone or as one of the processes; return losses, parts and weights."""
    torch.manual_seed(3)
    extras, whole = objective.extras(model), shared_batch()
    heads = [parameter for parameter in extras.parameters() if parameter.requires_grad]
    optimiser = torch.optim.SGD([*model.parameters(), *heads], lr=0.05)
    share, size = whole, len(SHARED) // PROCESSES
    if rank is not None:
        model, share = (
            DistributedDataParallel(model),
            rows(whole, slice(rank * size, (rank + 1) * size)),
        )
    found = {}
    for step in range(2):
        loss = only_loss(objective, model, extras, share)
        optimiser.zero_grad()
        loss.total.backward()
        means = {f"{step}/{name}": value for name, value in loss.parts.items()}
        means |= {f"{step}/total": loss.total.detach()}
        if rank is not None:
            for value in (*means.values(), *(head.grad for head in heads)):
                distributed.all_reduce(value)
                value /= PROCESSES
        optimiser.step()
        found |= means
    named = [*model.named_parameters(), *extras.named_parameters()]
    return found | {name.removeprefix("module."): p.detach().clone() for name, p in named}


def _one_of_two(rank: int, folder: Path, objectives: Mapping[str, Objective], family: str) -> None:
    torch.set_num_threads(1)
    meeting = (folder / "meeting").as_uri()
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=PROCESSES)
    for name, objective in objectives.items():
        found = learnt(objective, without_dropout(classifier(family).train()), rank)
        if rank == 0:
            save_file(found, folder / f"{name}.safetensors")
    distributed.destroy_process_group()


def learnt_by_two(
    objectives: Mapping[str, Objective], folder: Path, family: str = "bert"
) -> dict[str, dict[str, Tensor]]:
    """Return what `learnt` gives when two processes share the batch, for each objective."""
    context = multiprocessing.get_context("forkserver")
    bert = "transformers.models.bert.modeling_bert"
    context.set_forkserver_preload(["holdfast.objectives", "torch.nn.parallel", bert])
    processes = [
        context.Process(target=_one_of_two, args=(rank, folder, objectives, family))
        for rank in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
        process.kill()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    return {name: load_file(folder / f"{name}.safetensors") for name in objectives}
