"""`RobustTrainer`: Trainer's results with the standard objective, and what objectives add."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
import train_tiny as tiny
from torch import nn
from transformers import Trainer, TrainingArguments

from holdfast.errors import InputError, RunFailed
from holdfast.implicit import Connection, Theta, connect, connected
from holdfast.objectives import Batch, Loss, Standard, inputs_of
from holdfast.text import CanonicalMap, TextSettings, Wording
from holdfast.train import RobustTrainer
from holdfast.train.checkpoint import MARKER, complete_checkpoints

# Losses of four steps of the tiny model; they hold however the batch of 8 is put together.
GOLDEN = [0.69149, 0.66483, 0.79181, 0.69815]


def arguments(folder: Path, **changes: Any) -> TrainingArguments:
    settings: dict[str, Any] = {
        "per_device_train_batch_size": 8,
        "max_steps": 4,
        "learning_rate": 1e-2,
        "optim": "adamw_torch",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
        "log_level": "error",
    }
    return TrainingArguments(output_dir=str(folder), **(settings | changes))


def trainer(folder: Path, objective=None, model=None, rows: int = 32, **changes) -> RobustTrainer:
    built = RobustTrainer(
        tiny.model() if model is None else model,
        objective,
        args=arguments(folder, **changes),
        train_dataset=tiny.encoded(rows),
        eval_dataset=tiny.encoded(11, seed=1),
        data_collator=tiny.collator(),
        row_names=[example.id for example in tiny.examples(rows)],
    )
    return built


def losses(run: Trainer) -> list[float]:
    return [line["loss"] for line in run.state.log_history if "loss" in line]


def test_the_standard_objective_trains_as_trainer_does(tmp_path):
    ours = trainer(tmp_path)
    ours.train()
    theirs = Trainer(
        tiny.model(),
        arguments(tmp_path),
        train_dataset=tiny.encoded(32),
        data_collator=tiny.collator(),
    )
    theirs.train()
    for name, value in theirs.model.state_dict().items():
        torch.testing.assert_close(ours.model.state_dict()[name], value, msg=name)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
        {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
    ],
    ids=["plain", "accumulated", "checkpointed"],
)
def test_golden_losses(tmp_path, changes):
    run = trainer(tmp_path, **changes)
    run.train()
    assert losses(run) == pytest.approx(GOLDEN, rel=1e-4)


def test_bf16_is_autocast_over_fp32_weights(tmp_path):
    run = trainer(tmp_path, bf16=True, use_cpu=True)
    run.train()
    assert {p.dtype for p in run.model.parameters()} == {torch.float32}
    assert losses(run) == pytest.approx(GOLDEN, rel=2e-2)


def test_evaluation_measures_every_example(tmp_path):
    run = trainer(tmp_path, dataloader_drop_last=True, per_device_eval_batch_size=4)
    batch = tiny.collator()(list(tiny.encoded(11, seed=1)))
    batch.pop("ids")
    expected = run.model.eval()(**batch).loss.item()
    assert run.evaluate()["eval_loss"] == pytest.approx(expected, rel=1e-5)


# -- connections ----------------------------------------------------------------------------------

CONNECTION = Connection(layers="2", scheme=Theta(), on_failure="keep")


def test_a_connection_is_made_and_a_connected_model_taken_as_it_is(tmp_path):
    given = RobustTrainer(tiny.model(), connection=CONNECTION, args=arguments(tmp_path))
    assert connected(given.plain_model).connection == CONNECTION
    model = tiny.model()
    handle = connect(model, CONNECTION)
    taken = RobustTrainer(model, args=arguments(tmp_path))
    assert connected(taken.plain_model) is handle
    with pytest.raises(InputError, match="connected already"):
        RobustTrainer(model, connection=CONNECTION, args=arguments(tmp_path))


def test_connected_layers_train_the_same_with_gradient_checkpointing(tmp_path):
    curves = []
    for checkpointing in (False, True):
        model = tiny.model(dropout=0.1)
        connect(model, CONNECTION)
        run = trainer(
            tmp_path,
            model=model,
            gradient_checkpointing=checkpointing,
            gradient_checkpointing_kwargs={"use_reentrant": False},
        )
        run.train()
        curves.append(losses(run))
    assert curves[0] == pytest.approx(curves[1], rel=1e-4)
    assert curves[0] != pytest.approx(GOLDEN, rel=1e-4)


def test_a_new_model_is_connected_like_the_one_before(tmp_path):
    run = RobustTrainer(
        None, connection=CONNECTION, args=arguments(tmp_path), model_init=lambda: tiny.model()
    )
    assert connected(run.call_model_init()).connection == CONNECTION


# -- objectives with several losses and something beside the model ------------------------------


def by_hand(objective: tiny.TwoPasses, steps: int) -> tuple[nn.Module, nn.Module]:
    """The same training written out: one optimizer over both, the gradients summed."""
    model, data = tiny.model(), tiny.encoded(8)
    extras = objective.extras(model)
    parameters = [*model.parameters(), *(p for p in extras.parameters() if p.requires_grad)]
    optimizer = torch.optim.AdamW(parameters, lr=1e-2, weight_decay=0)
    batch = tiny.collator()(list(data))
    batch.pop("ids")
    for _ in range(steps):
        sum(loss.total for loss in objective.losses(model, extras, batch)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        nn.utils.clip_grad_norm_(extras.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model, extras


@pytest.mark.parametrize(
    "changes", [{}, {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}]
)
def test_two_passes_and_a_head_train_as_written_out(tmp_path, changes):
    run = trainer(
        tmp_path, tiny.TwoPasses(), rows=8, max_steps=3, lr_scheduler_type="constant", **changes
    )
    run.train()
    model, extras = by_hand(tiny.TwoPasses(), steps=3)
    for found, expected in ((run.model, model), (run.extras, extras)):
        for name, value in expected.state_dict().items():
            torch.testing.assert_close(
                found.state_dict()[name], value, rtol=1e-3, atol=1e-5, msg=name
            )


def test_parts_of_the_loss_are_logged_as_averages(tmp_path):
    every, pairs = (
        trainer(tmp_path, tiny.TwoPasses()),
        trainer(tmp_path, tiny.TwoPasses(), logging_steps=2),
    )
    every.train()
    pairs.train()
    lines = [line for line in every.state.log_history if "loss" in line]
    for line in lines:
        assert line["loss"] == pytest.approx((line["plain"] + line["headed"]) / 2, rel=1e-4)
    first = next(line for line in pairs.state.log_history if "loss" in line)
    assert first["headed"] == pytest.approx((lines[0]["headed"] + lines[1]["headed"]) / 2, rel=1e-4)


@dataclasses.dataclass(frozen=True)
class Miscounting:
    passes: int
    yielded: int
    moves: ClassVar[bool] = False
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def extras(self, model: nn.Module) -> nn.Module:
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        for _ in range(self.yielded):
            yield Loss(model(**batch).loss)


@pytest.mark.parametrize(("passes", "yielded", "how"), [(2, 1, "fewer"), (1, 2, "more")])
def test_an_objective_must_yield_what_it_announces(tmp_path, passes, yielded, how):
    with pytest.raises(RunFailed, match=f"Miscounting yields {how} losses"):
        trainer(tmp_path, Miscounting(passes, yielded)).train()


def test_extras_are_saved_and_resumed_with_the_model(tmp_path):
    whole = trainer(tmp_path / "whole", tiny.TwoPasses())
    whole.train()
    settings = {"save_strategy": "steps", "save_steps": 2}
    trainer(tmp_path / "half", tiny.TwoPasses(), **settings).train()
    assert (tmp_path / "half" / "checkpoint-2" / "extras.safetensors").is_file()
    (tmp_path / "half" / "checkpoint-4" / MARKER).unlink()  # as if killed while writing it
    resumed = trainer(tmp_path / "half", tiny.TwoPasses(), **settings)
    resumed.train(resume_from_checkpoint=True)
    for found, expected in ((resumed.model, whole.model), (resumed.extras, whole.extras)):
        for name, value in expected.state_dict().items():
            assert torch.equal(found.state_dict()[name], value), name


def test_what_is_published_while_training_is_whole(tmp_path, monkeypatch):
    published = []

    def push(self: Trainer, folder: str) -> None:
        published.append({path.name for path in Path(self.args.output_dir).iterdir()})

    def no_repository(self: Trainer, token: str | None = None) -> None:
        self.push_in_progress = None

    monkeypatch.setattr(Trainer, "_push_from_checkpoint", push)
    monkeypatch.setattr(Trainer, "init_hf_repo", no_repository)
    model = tiny.model()
    connect(model, CONNECTION)
    run = trainer(tmp_path, model=model, save_strategy="steps", save_steps=2, push_to_hub=True)
    run.wording = Wording(TextSettings(16), CanonicalMap({"movie": "film"}, "", rounds=1))
    run.train()
    assert len(published) == 2
    for files in published:
        assert {"connection.json", "text.json", "canonical.json"} <= files


def test_resuming_without_a_complete_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint-2").mkdir()
    with pytest.raises(InputError, match="no complete checkpoint"):
        trainer(tmp_path).train(resume_from_checkpoint=True)


def test_a_new_model_gets_its_own_extras(tmp_path):
    run = RobustTrainer(
        None,
        tiny.TwoPasses(),
        args=arguments(tmp_path, max_steps=1),
        model_init=lambda: tiny.model(),
        train_dataset=tiny.encoded(8),
        data_collator=tiny.collator(),
    )
    first = run.extras
    run.train()
    assert run.extras is not first
    assert not torch.equal(run.extras["head"].weight, first["head"].weight)


def test_trainers_own_changes_of_the_loss_are_refused(tmp_path):
    with pytest.raises(InputError, match="label_smoothing_factor"):
        trainer(tmp_path, label_smoothing_factor=0.1)


# -- losses that are no numbers -------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BreaksAt:
    """The standard loss until a step, then one that breaks the loss or the gradients."""

    step: int
    what: str
    seen: list[int] = dataclasses.field(default_factory=list)
    passes = 1
    moves = substitutes = class_conditional = False

    def extras(self, model: nn.Module) -> nn.Module:
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        self.seen.append(1)
        loss = nn.functional.cross_entropy(model(**inputs_of(batch)).logits, batch["labels"])
        if len(self.seen) == self.step:
            zero = loss - loss.detach()
            loss = loss / zero if self.what == "loss" else loss + zero.abs().sqrt()
        yield Loss(loss)


def test_a_loss_that_is_no_number_names_step_and_examples(tmp_path):
    run = trainer(tmp_path, BreaksAt(3, "loss"), save_strategy="steps", save_steps=2)
    with pytest.raises(RunFailed, match=r"became inf at step 3, on the examples (train:\d+, ){7}"):
        run.train()
    assert [folder.name for folder in complete_checkpoints(tmp_path)] == ["checkpoint-2"]


def test_broken_gradients_never_reach_a_checkpoint(tmp_path):
    run = trainer(
        tmp_path, BreaksAt(4, "gradient"), save_strategy="steps", save_steps=2, logging_steps=100
    )
    with pytest.raises(RunFailed, match=r"gradients became NaN or infinite at step 4"):
        run.train()
    assert [folder.name for folder in complete_checkpoints(tmp_path)] == ["checkpoint-2"]


def test_losses_that_nobody_looks_at_are_checked_at_the_end(tmp_path, monkeypatch):
    run = trainer(tmp_path, BreaksAt(2, "loss"), logging_strategy="no", max_steps=2)
    monkeypatch.setattr(run, "_look_at_losses", lambda: None)  # as on an accelerator
    with pytest.raises(RunFailed, match="at step 2"):
        run.train()


def test_the_standard_objective_is_the_default(tmp_path):
    assert trainer(tmp_path).objective == Standard()
