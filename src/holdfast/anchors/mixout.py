"""Mixout: in training, each weight is its pre-trained value with some probability.

((1 - B) W0 + B W - p W0) / (1 - p) with B ~ Bernoulli(1 - p) is W0 + B (W - W0) / (1 - p): dropout
of what was learned. It is a hook, so parameters, names and checkpoints stay as they were.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from holdfast.anchors.anchor import Attached, OptimizerChoice
from holdfast.anchors.reference import Reference
from holdfast.errors import InputError


@dataclass(frozen=True)
class Mixout:
    """Mixes the weights of every linear layer of the base model, anew in each forward pass.

    Biases, embeddings and normalisation are left alone, as in the authors' code. The mixed
    weights are kept for the backward pass: memory for one more copy of them. RIFT's released
    code wraps the top module, which has no weights of its own, so that nothing is mixed there.
    """

    probability: float = 0.6
    """Chance of the pre-trained value, RIFT's m; 0 changes nothing, 1 is the pre-trained model."""
    columns: bool = False
    """Draw once for each input of a layer, as the authors' code does, not for each weight."""
    keep_dropout: bool = True
    """Keep the model's own dropout; the authors' code sets that of `nn.Dropout` to 0."""

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        if not 0 <= self.probability <= 1:
            raise InputError(
                f"Mixout.probability is {self.probability}; expected a number from 0 to 1."
            )

    def attach(self, model: PreTrainedModel, reference: Reference) -> Attached:
        """Mix in training mode; evaluation uses the weights as they are."""
        values = {id(parameter): value for _, parameter, value in reference.pairs(model)}
        layers = [
            part for part in model.base_model.modules() if isinstance(part, nn.Linear | Conv1D)
        ]
        found = [
            (layer, values[id(layer.weight)]) for layer in layers if id(layer.weight) in values
        ]
        _refuse_mixed(layers)
        attached = Attached()
        if self.probability > 0:
            for layer, value in found:
                attached.undo += _hook(layer, MixedWeight(value, self.probability, self.columns))
        if not self.keep_dropout:
            dropouts = [part for part in model.modules() if isinstance(part, nn.Dropout)]
            attached.undo += [_silence(dropout) for dropout in dropouts]
        return attached

    def penalty(self, model: PreTrainedModel, reference: Reference) -> Tensor | None:
        """Leave the loss alone."""
        return None

    def optimizer(
        self, usual: OptimizerChoice, model: PreTrainedModel, reference: Reference
    ) -> OptimizerChoice:
        """Leave the optimizer alone."""
        return usual


class MixedWeight:
    """Puts a mixed weight into a layer for the time of one call; one for each layer."""

    def __init__(self, value: Tensor, probability: float, columns: bool) -> None:
        self.value, self.probability, self.columns = value, probability, columns
        self.parameter: nn.Parameter | None = None  # while another tensor stands in its place

    def __deepcopy__(self, memo: dict[int, Any]) -> "MixedWeight":
        """Share the pre-trained value between copies of a model: nothing ever changes it."""
        return MixedWeight(self.value, self.probability, self.columns)

    def before(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """Swap the parameter for the mixed weight (a forward pre-hook)."""
        if not module.training:
            return
        parameter: Any = module._parameters["weight"]
        mixed: Any = self.mixed(parameter, 0 if isinstance(module, Conv1D) else 1)
        module._parameters["weight"], self.parameter = mixed, parameter

    def after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Put the parameter back (a forward hook, also called when the layer failed)."""
        if self.parameter is not None:
            module._parameters["weight"], self.parameter = self.parameter, None

    def mixed(self, parameter: Tensor, inputs: int) -> Tensor:
        """Return the mixed weight; `inputs` is the dimension that counts the layer's inputs.

        Masks come from the device's own generator, like those of dropout: gradient checkpointing
        and the solves of a connected layer draw the same ones again. The gradient is that of the
        formula; the authors' code leaves the factor 1 / (1 - p) out of it.
        """
        value = self.value.to(parameter)
        learned = parameter - value
        if not self.columns:
            return value + functional.dropout(learned, self.probability)
        shape = [1, 1]
        shape[inputs] = learned.shape[inputs]
        return value + functional.dropout(learned.new_ones(shape), self.probability) * learned


def _hook(layer: nn.Module, mix: MixedWeight) -> list[Callable[[], None]]:
    return [
        layer.register_forward_pre_hook(mix.before).remove,
        layer.register_forward_hook(mix.after, always_call=True).remove,
    ]


def _silence(dropout: nn.Dropout) -> Callable[[], None]:
    usual, dropout.p = dropout.p, 0.0
    return lambda: setattr(dropout, "p", usual)


def _refuse_mixed(layers: list[Any]) -> None:
    """Refuse a second mix: the two would put back each other's weights."""
    hooks = [hook for layer in layers for hook in layer._forward_hooks.values()]
    if any(isinstance(getattr(hook, "__self__", None), MixedWeight) for hook in hooks):
        raise InputError(
            "The model's weights are mixed already; call .remove() on what attach returned before "
            "attaching Mixout anew."
        )
