"""RecAdam, beside a plain transcription of its formula."""

import io
import math

import pytest
import torch
import train_tiny as tiny
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from holdfast.anchors import RecAdam, RecAdamW, Reference
from holdfast.anchors.recadam import task_share
from holdfast.errors import InputError

ANCHOR = RecAdam(rate=0.7, midpoint=4, strength=20.0)
SETTINGS = {"lr": 1e-2, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.0}


def built(model: nn.Module, reference: Reference, **changes: float) -> RecAdamW:
    usual = (torch.optim.AdamW, {**SETTINGS, **changes})
    kind, settings = ANCHOR.optimizer(usual, model, reference)
    optimizer = kind(model.parameters(), **settings)
    assert type(optimizer) is RecAdamW
    return optimizer


def gradients(model: nn.Module, step: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(step)
    return [torch.randn(p.shape, generator=generator).to(p.dtype) for p in model.parameters()]


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, numbers: range) -> None:
    for number in numbers:
        for parameter, gradient in zip(model.parameters(), gradients(model, number), strict=True):
            parameter.grad = gradient
        optimizer.step()


def transcribed(model: nn.Module, count: int, *, decay: float = 0.0) -> dict[str, Tensor]:
    """RecAdam written out, one tensor at a time."""
    values = {name: p.detach().clone() for name, p in model.named_parameters()}
    first = {name: torch.zeros_like(value) for name, value in values.items()}
    second = {name: torch.zeros_like(value) for name, value in values.items()}
    home = {name: value.clone() for name, value in values.items()}
    rate, (beta1, beta2), eps = SETTINGS["lr"], SETTINGS["betas"], SETTINGS["eps"]
    for t in range(1, count + 1):
        share = 1 / (1 + math.exp(-0.7 * (t - 4)))
        for (name, value), gradient in zip(values.items(), gradients(model, t), strict=True):
            first[name] = beta1 * first[name] + (1 - beta1) * gradient
            second[name] = beta2 * second[name] + (1 - beta2) * gradient**2
            root = (second[name] / (1 - beta2**t)).sqrt() + eps
            adam = rate * first[name] / (1 - beta1**t) / root
            decayed = value - rate * decay * value
            if name.startswith("bert."):
                pull = rate * (1 - share) * 20.0 * (decayed - home[name])
                values[name] = decayed - (share * adam + pull)
            else:
                values[name] = decayed - adam
    return values


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_ten_steps_are_those_of_the_formula(decay):
    model = tiny.model().double()
    expected = transcribed(model, 10, decay=decay)
    optimizer = built(model, Reference.of(model), weight_decay=decay)
    steps(model, optimizer, range(1, 11))
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), expected[name], rtol=1e-10, atol=1e-13)


def test_the_settings_of_the_groups_survive_a_step():
    model = tiny.model()
    optimizer = built(model, Reference.of(model), weight_decay=0.25)
    steps(model, optimizer, range(1, 3))
    assert {(group["lr"], group["weight_decay"]) for group in optimizer.param_groups} == {
        (1e-2, 0.25)
    }


def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit():
    whole = tiny.model()
    reference = Reference.of(whole)
    steps(whole, built(whole, reference), range(1, 9))

    first = tiny.model()
    optimizer = built(first, reference := Reference.of(first))
    steps(first, optimizer, range(1, 5))
    file = io.BytesIO()
    torch.save({"model": first.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)

    second = tiny.model()
    reference = Reference.of(second)  # before the checkpoint is loaded
    second.load_state_dict(saved["model"])
    resumed = built(second, reference)
    resumed.load_state_dict(saved["optimizer"])
    steps(second, resumed, range(5, 9))
    for ours, theirs in zip(second.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_pre_trained_weights_are_not_saved_with_the_optimizer():
    model = tiny.model()
    state = built(model, Reference.of(model)).state_dict()
    assert not [v for group in state["param_groups"] for v in group.values() if torch.is_tensor(v)]


def test_the_share_of_the_task_rises_from_0_to_1():
    shares = [task_share(step, 0.5, 250) for step in (1, 250, 499)]
    assert shares == pytest.approx([0, 0.5, 1])
    assert task_share(248, 0.5, 250) == pytest.approx(1 / (1 + math.e))
    assert task_share(1, 1.0, 1000) == 0.0  # where exp(999) would overflow


def test_early_on_the_base_model_stays_while_the_head_learns():
    model = tiny.model()
    reference = Reference.of(model)
    head = model.classifier.weight.detach().clone()
    usual = (torch.optim.AdamW, {"lr": 1e-4})
    kind, settings = RecAdam().optimizer(usual, model, reference)
    steps(model, kind(model.parameters(), **settings), range(1, 4))
    for _, parameter, value in reference.pairs(model):
        torch.testing.assert_close(parameter.detach(), value, rtol=0, atol=1e-6)
    assert (model.classifier.weight - head).abs().min() > 1e-5


def test_groups_are_cut_and_a_head_of_the_objective_joins():
    model = tiny.model()
    optimizer = built(model, Reference.of(model))
    optimizer.add_param_group({"params": list(nn.Linear(2, 2).parameters()), "weight_decay": 0.1})
    assert [group["pulled"] for group in optimizer.param_groups] == [True, False, False]
    assert len(optimizer.param_groups[0]["params"]) == len(list(model.bert.parameters()))


def test_parameters_may_come_with_their_names():
    model = tiny.model()
    usual = (torch.optim.AdamW, SETTINGS)
    kind, settings = ANCHOR.optimizer(usual, model, Reference.of(model))
    groups = kind(model.named_parameters(), **settings).param_groups
    assert [(group["pulled"], len(group["param_names"])) for group in groups] == [
        (True, len(list(model.bert.parameters()))),
        (False, 2),
    ]


def test_a_closure_is_called_once_with_gradients_on():
    model = tiny.model()
    optimizer = built(model, Reference.of(model))
    calls = []

    def closure() -> Tensor:
        calls.append(torch.is_grad_enabled())
        return torch.tensor(3.0)

    assert optimizer.step(closure) == 3.0
    assert calls == [True]


def test_a_pull_that_leaps_is_refused():
    model = tiny.model()
    with pytest.raises(InputError, match=r"0.06 times an anchor's strength of 20.0 is above 1"):
        built(model, Reference.of(model), lr=0.06)


def test_another_optimizer_is_refused():
    model = tiny.model()
    with pytest.raises(InputError, match=r"RecAdam is a form of torch's AdamW, but .* is SGD"):
        ANCHOR.optimizer((torch.optim.SGD, {"lr": 1e-2}), model, Reference.of(model))


def test_trainer_builds_it_and_its_schedule_reaches_the_pull(tmp_path):
    model = tiny.model()
    reference = Reference.of(model)
    args = TrainingArguments(
        output_dir=str(tmp_path),
        learning_rate=1e-2,
        max_steps=3,
        optim="adamw_torch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        use_cpu=True,
    )
    usual = Trainer.get_optimizer_cls_and_kwargs(args, model)
    choice = ANCHOR.optimizer(usual, model, reference)
    data = [{k: v for k, v in tiny.encoded(8)[row].items() if k != "ids"} for row in range(8)]
    trainer = Trainer(
        model,
        args,
        train_dataset=data,
        data_collator=tiny.collator(),
        optimizer_cls_and_kwargs=choice,
    )
    trainer.train()
    assert [
        group["pulled_steps"]
        for group in trainer.optimizer.optimizer.param_groups
        if group["pulled"]
    ] == [3, 3]
    assert all(group["lr"] == 0 for group in trainer.optimizer.param_groups)  # decayed linearly
