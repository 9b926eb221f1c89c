"""The pre-trained weights an anchor holds on to."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel

from holdfast.errors import InputError


@dataclass(frozen=True, eq=False)
class Reference:
    """A copy of the pre-trained weights of a model's base; heads have none."""

    values: Mapping[str, Tensor]
    """Value of each parameter, by its name in `model.base_model`."""

    @classmethod
    def of(cls, model: PreTrainedModel, new_weights: Collection[str] = ()) -> "Reference":
        """Copy the weights, once, before training, when the model is on its device.

        `new_weights` are names of parameters of `model` that no checkpoint brought, such as those
        of a pooler made for the task: there is nothing in them to stay near.
        """
        new = {id(p) for name, p in model.named_parameters() if name in new_weights}
        named = model.base_model.named_parameters()
        return cls({name: p.detach().clone() for name, p in named if id(p) not in new})

    def pairs(self, model: PreTrainedModel) -> Iterator[tuple[str, nn.Parameter, Tensor]]:
        """Yield the name, the parameter as it is now and its pre-trained value."""
        parameters = dict(model.base_model.named_parameters())
        for name, value in self.values.items():
            yield name, _checked(name, parameters.get(name), value), value


def _checked(name: str, parameter: nn.Parameter | None, value: Tensor) -> nn.Parameter:
    if isinstance(parameter, DTensor):
        raise InputError(
            f"The parameter {name} is shared out among processes, and an anchor needs it whole; "
            f"train with DDP, or on one device."
        )
    if parameter is None or parameter.shape != value.shape:
        raise InputError(
            f"The reference has a parameter {name} of shape {tuple(value.shape)}, which the model "
            f"lacks; make the reference from the model that is trained."
        )
    if parameter.device != value.device:
        raise InputError(
            f"The parameter {name} is on {parameter.device} and its pre-trained value on "
            f"{value.device}; make the reference when the model is on its device."
        )
    return parameter
