"""What each of two processes does in the distributed tests; torch's own launcher starts them."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import torch
import train_tiny as tiny
from torch import nn
from transformers import PrinterCallback, TrainingArguments

from holdfast.data import Item
from holdfast.errors import RunFailed
from holdfast.objectives import Batch, Loss
from holdfast.record import decode
from holdfast.train import HullCheck, RobustTrainer, TrainConfig, fine_tune


class Watched(tiny.TwoPasses):
    """Two passes that note at each forward whether DDP will synchronise the backward."""

    def __init__(self) -> None:
        self.synchronised: list[bool] = []

    def extras(self, model: nn.Module) -> nn.Module:
        """Give the second process another head, which must not matter."""
        extras = super().extras(model)
        with torch.no_grad():
            extras["head"].weight += torch.distributed.get_rank()
        return extras

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        for loss in super().losses(model, extras, batch):
            self.synchronised.append(getattr(model, "require_backward_grad_sync", True))
            yield loss


class BrokenOnTheSecond(tiny.TwoPasses):
    """A loss that is no number, on one of the processes only."""

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        rank = torch.distributed.get_rank()
        for loss in super().losses(model, extras, batch):
            yield Loss(loss.total * (float("nan") if rank == 1 else 1.0))


def trainer(objective: tiny.TwoPasses, folder: Path, processes: int) -> RobustTrainer:
    """Three steps of two accumulated batches of 8, however many processes share them."""
    args = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=8 // processes,
        gradient_accumulation_steps=2,
        max_steps=3,
        learning_rate=1e-2,
        optim="adamw_torch",
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        use_cpu=True,
    )
    data = tiny.encoded(32)
    built = RobustTrainer(
        tiny.model(), objective, args=args, train_dataset=data, data_collator=tiny.collator()
    )
    built.remove_callback(PrinterCallback)
    return built


def summary(run: RobustTrainer) -> dict[str, object]:
    curve = [line for line in run.state.log_history if "loss" in line]
    return {
        "curve": [[line[name] for name in ("loss", "plain", "headed")] for line in curve],
        "head": run.extras["head"].weight.tolist(),
        "classifier": run.plain_model.classifier.weight.tolist(),
    }


def held(folder: Path) -> float:
    """Return how many of 11 texts hold, which no number of processes shares evenly.

    The classifier answers always the same: it does not matter what is drawn for the attack.
    """
    model = tiny.model()
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([1.0, 0.0]))
    data = tiny.encoded(11)
    args = TrainingArguments(
        output_dir=str(folder),
        per_device_eval_batch_size=2,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        use_cpu=True,
    )

    def collate(items: list[Item]) -> dict[str, torch.Tensor]:
        batch = tiny.collator()(items)
        batch["candidates"] = batch["input_ids"].unsqueeze(2)
        batch["candidate_mask"] = torch.ones_like(batch["candidates"], dtype=torch.bool)
        return batch

    run = RobustTrainer(
        model, args=args, eval_dataset=data, data_collator=collate, check=HullCheck(steps=1)
    )
    run.remove_callback(PrinterCallback)
    return float(run.evaluate()["eval_hull_accuracy"])


def main(root: Path) -> None:
    signal.alarm(240)  # processes that wait for each other end here
    fine_tune(decode(TrainConfig, json.loads((root / "two.json").read_text())), progress=False)
    objective = Watched()
    run = trainer(objective, root / "passes", processes=2)
    run.train()
    found = {**summary(run), "synchronised": objective.synchronised}
    try:
        trainer(BrokenOnTheSecond(), root / "broken", processes=2).train()
    except RunFailed as error:
        found["failure"] = str(error)
    found["held"] = held(root / "held")
    rank = torch.distributed.get_rank()
    (root / f"rank-{rank}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()
