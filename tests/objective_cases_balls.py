"""What the tests of objectives with norm balls share: starts that draw nothing, and checks."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from families import classifier
from objective_cases import CONNECTIONS, adversarial_batch, gradients, without_dropout
from torch import Tensor, nn
from transformers import PreTrainedModel

from holdfast.adversary import L2Ball, LinfBall, movable
from holdfast.implicit import connect
from holdfast.objectives import Objective, Standard
from holdfast.record import decode, encode

TABLE = "bert.embeddings.word_embeddings.weight"


def _pattern(scale: float, embeds: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
    """Return a start that an example has alone and in any batch."""
    return scale * torch.sin(37 * embeds.detach().float()) * movable(batch)


@dataclass(frozen=True)
class SteadyL2(L2Ball):
    """A ball whose ascent begins at a point that depends on the example only."""

    def start(self, embeds: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        return self.project(_pattern(self.begin_scale, embeds, batch))


@dataclass(frozen=True)
class SteadyLinf(LinfBall):
    """The same for the largest entry."""

    def start(self, embeds: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        return self.project(_pattern(self.begin_scale, embeds, batch))


def exact_model(*, seed: int = 0) -> PreTrainedModel:
    """Return a tiny BERT in training mode that computes in float64 and without dropout."""
    return without_dropout(classifier("bert", seed=seed)).double().train()


def on_vectors(
    model: PreTrainedModel, batch: Mapping[str, Tensor], vectors: Tensor, *, states: bool = False
):
    """Run BERT on token vectors the way it offers itself, not ours."""
    mask = batch["attention_mask"]
    return model(inputs_embeds=vectors, attention_mask=mask, output_hidden_states=states)


def table(model: PreTrainedModel) -> nn.Module:
    return model.bert.embeddings.word_embeddings


def totals_of(objective: Objective, model: nn.Module, extras: nn.Module, batch) -> list[Tensor]:
    """Return the losses, each differentiated before the next is asked for."""
    found = []
    for loss in objective.losses(model, extras, batch):
        loss.total.backward()
        found.append(loss.total.detach())
    return found


def gradients_of(objective: Objective, model: nn.Module, extras: nn.Module, batch):
    """Return the gradients of all that the objective yields, as a trainer would sum them."""
    losses = objective.losses(model, extras, batch)
    return gradients(model, (loss.total for loss in losses))


# -- checks that every objective has to pass ------------------------------------------------------


def check_trains(objective: Objective, model: PreTrainedModel) -> None:
    """Every loss is a number, and all that plain training reaches gets a gradient."""
    batch = adversarial_batch()
    model.train()
    reached = gradients_of(Standard(), model, nn.Module(), batch)
    found = gradients_of(objective, model, objective.extras(model), batch)
    assert found.keys() >= reached.keys()
    assert all(gradient.isfinite().all() for gradient in found.values())
    assert any(gradient.any() for gradient in found.values())


def check_connected(objective: Objective, connection: str) -> None:
    """The same on an implicit model, whose connection changes the loss."""
    batch = adversarial_batch()
    plain, implicit = classifier("bert").train(), classifier("bert").train()
    connect(implicit, CONNECTIONS[connection])
    check_trains(objective, implicit)
    values = []
    for model in (plain, implicit):
        torch.manual_seed(0)
        values.append(totals_of(objective, model, objective.extras(model), batch)[0])
    assert values[0] != values[1]


def check_leaves_alone(objective: Objective) -> None:
    """Asking for a loss touches no gradient and switches nothing for good."""
    model = classifier("bert").train()
    model.dropout.eval()  # as one who froze a part would
    model.bert.pooler.requires_grad_(False)
    trained = [parameter.requires_grad for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    next(iter(objective.losses(model, objective.extras(model), adversarial_batch())))
    assert [parameter.requires_grad for parameter in model.parameters()] == trained
    assert all((parameter.grad == 3.0).all() for parameter in model.parameters())
    assert model.training
    assert not model.dropout.training


def check_autocast(objective: Objective) -> None:
    """Under bf16 the losses are full-precision numbers near those of fp32."""
    batch, curves = adversarial_batch(), []
    for enabled in (False, True):
        model = without_dropout(classifier("bert")).train()
        torch.manual_seed(0)
        extras = objective.extras(model)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            found = totals_of(objective, model, extras, batch)
        assert {total.dtype for total in found} == {torch.float32}
        curves.append(torch.stack(found))
    torch.testing.assert_close(curves[0], curves[1], rtol=0.1, atol=0.02)


def check_own_json(objective: Objective) -> None:
    """It is a value: its settings make it anew."""
    assert decode(type(objective), encode(objective)) == objective


def losses_where_nothing_moves(objective: Objective) -> list[float]:
    """Return the losses where no token may move, and then that of plain training."""
    batch = adversarial_batch()
    batch["movable"] = torch.zeros_like(batch["movable"])
    model = without_dropout(classifier("bert")).train()
    (plain,) = totals_of(Standard(), model, nn.Module(), batch)
    found = totals_of(objective, model, objective.extras(model), batch)
    return [float(total) for total in (*found, plain)]
