"""Connected models under torch.compile."""

from dataclasses import replace

import pytest
import torch
from families import batch, classifier
from torch import Tensor
from transformers import PreTrainedModel

from holdfast.implicit import connect, recommended
from holdfast.solve import Anderson

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
quiet = replace(recommended, on_failure="keep")
LABELS = torch.tensor([0, 1, 1])


def compiled(model: PreTrainedModel, backend: str) -> PreTrainedModel:
    torch._dynamo.reset()
    return torch.compile(model, backend=backend)


def gradients(model: PreTrainedModel, loss: Tensor) -> list[Tensor]:
    model.zero_grad()
    loss.backward()
    return [parameter.grad for parameter in model.parameters()]


def test_compiled_models_give_the_same() -> None:
    model, inputs = classifier("bert", num_hidden_layers=2), batch((7, 12, 4))
    # the first layer is plain: its compiled code must not be taken for the second's
    connect(model, replace(quiet, layers="2"))
    wanted = model(**inputs, labels=LABELS)
    found = compiled(model, "aot_eager")(**inputs, labels=LABELS)
    torch.testing.assert_close(found.logits, wanted.logits, rtol=0, atol=1e-5)
    pairs = zip(gradients(model, found.loss), gradients(model, wanted.loss), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


@torch.no_grad()
def test_connecting_and_removing_after_compilation() -> None:
    model, inputs = classifier("bert", num_hidden_layers=1), batch((7, 12, 4))
    plain, fast = model(**inputs).logits, compiled(model, "eager")
    torch.testing.assert_close(fast(**inputs).logits, plain, rtol=0, atol=1e-5)
    with connect(model, quiet) as handle:
        wanted = model(**inputs).logits
        handle.reset()
        torch.testing.assert_close(fast(**inputs).logits, wanted, rtol=0, atol=1e-5)
        assert all(reading.evaluations > 1 for reading in handle.readings())
    torch.testing.assert_close(fast(**inputs).logits, plain, rtol=0, atol=1e-5)


def test_compiled_models_train_with_frozen_dropout() -> None:
    model = classifier("bert", num_hidden_layers=1).train()
    handle = connect(model, replace(quiet, solver=Anderson(40, 1e-4, memory=6)))
    compiled(model, "eager")(**batch((7, 12, 4)), labels=LABELS).loss.backward()
    assert all(reading.converged == 1.0 for reading in handle.readings())
    assert all(reading.residual_before > 1e-2 for reading in handle.readings())
