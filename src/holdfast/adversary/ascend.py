"""The one ascent loop: find a point of a region where a loss is high."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from holdfast.adversary.batch import Batch
from holdfast.adversary.embedded import plain
from holdfast.adversary.lowered import lowered
from holdfast.adversary.region import Region


def ascend(
    region: Region,
    loss: Callable[[Tensor], Tensor],
    embeds: Tensor,
    batch: Batch,
    steps: int,
    *,
    start: Tensor | None = None,
) -> Tensor:
    """Return the region's state after `steps` steps up `loss`, a scalar of perturbed vectors.

    It begins at `start`, a state of the region; none: where the region itself begins.

    The loss is a sum over the examples, so that none depends on the others of its batch. Only the
    state is differentiated; run it inside `attacking(model)`, which excludes the parameters.
    """
    embeds = embeds.detach()
    state = region.start(embeds, batch) if start is None else start
    for _ in range(steps):
        state = state.detach().requires_grad_()
        with torch.enable_grad():
            value = loss(region.embed(state, embeds, batch))
        (gradient,) = torch.autograd.grad(value, state)
        state = region.step(state.detach(), gradient, batch)
    return state.detach()


@contextmanager
def attacking(model: nn.Module) -> Iterator[nn.Module]:
    """Give the model as an adversary runs it: dropout off, parameters without gradients.

    Parameters are excluded from the inner backward pass instead of having their gradients cleared
    after it (as released code does): that saves a third of the work and the saved activations,
    and leaves gradients accumulated so far alone. What wraps the model (DDP) is left out, so it
    does not wait for a backward pass that never comes. Under autocast the model runs in the lower
    precision altogether, see `holdfast.adversary.lowered`.
    """
    inner = plain(model)
    training = [part for part in inner.modules() if part.training]
    trained = [parameter for parameter in inner.parameters() if parameter.requires_grad]
    for part in training:
        part.training = False
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        with lowered(inner):
            yield inner
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
        for part in training:
            part.training = True
