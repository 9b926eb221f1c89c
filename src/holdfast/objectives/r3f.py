"""R3F and R4F (Aghajanyan et al., ICLR 2021): predictions that noise on the vectors cannot change.

    CE(f(e), y) + weight * [KL(p || p') + KL(p' || p)],    p = f(e), p' = f(e + z)

z is one draw of noise, no adversary; R4F also keeps the head's Lipschitz constant at 1 or below.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import Batch, LinfBall, look_up, plain, run_on_both
from holdfast.errors import InputError
from holdfast.objectives.divergence import symmetric_kl
from holdfast.objectives.objective import Loss
from holdfast.solve.settings import require_one_of

Noise = Literal["uniform", "normal"]

_ITERATIONS = 10  # of the power method in a step; with 2 the norm was seen to pass 1.02


@dataclass(frozen=True)
class R3F:
    """Cross-entropy, and the symmetric divergence between clean and noisy predictions.

    Dropout differs between the two forwards, as in the released code. With the paper's noise of
    1e-5 that difference is most of the divergence, and half precision does not see the noise.
    """

    weight: float = 1.0
    """Weight of the divergence, lambda."""
    noise: Noise = "uniform"
    """Distribution of the noise; special tokens and padding get none, unlike in fairseq."""
    epsilon: float = 1e-5
    """Half-width of the uniform, deviation of the normal distribution."""
    detached: bool = True
    """Let the noisy forward train all but the token vectors, as released."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_one_of(get_args(Noise), self, "noise")
        if self.weight < 0 or self.epsilon <= 0:
            raise InputError(
                f"R3F has weight {self.weight} and epsilon {self.epsilon}; "
                "expected 0 or above, and above 0."
            )

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        region = LinfBall(radius=None, begin=self.noise, begin_scale=self.epsilon)
        embeds = look_up(model, batch["input_ids"])
        # released code only; the paper's formula differentiates both sides in the vectors too
        base = embeds.detach() if self.detached else embeds
        noisy = region.embed(region.start(embeds.detach(), batch), base, batch)
        clean, moved = run_on_both(model, batch, embeds, noisy).logits.float().chunk(2)
        loss = functional.cross_entropy(clean, batch["labels"])
        # neither side is detached, unlike SMART's released code (and R3F as CreAT compares with)
        divergence = symmetric_kl(clean, moved).mean()
        parts = {"clean": loss.detach(), "divergence": divergence.detach()}
        yield Loss(loss + self.weight * divergence, parts)


@dataclass(frozen=True)
class R4F:
    """R3F, with the spectral norm of every linear map of the classification head at most 1.

    Released code divides the last map's weight by its norm in every forward (so the norm is 1, not
    at most 1), which renames it in the checkpoint. Here the weights themselves are brought back
    after each step of the optimizer, projected gradient descent on the paper's constraint: what is
    saved is a plain checkpoint that computes what was trained. The norm is followed by the power
    method, so it may pass 1 by a little, and the last step of a training is not brought back.
    """

    r3f: R3F = R3F()
    """The loss; R4F adds the constraint."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def extras(self, model: nn.Module) -> nn.Module:
        """Return what follows the norms of the head."""
        return SpectralBounds(model)

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Bring the head back to the constraint, then yield R3F's loss."""
        if not isinstance(extras, SpectralBounds):
            raise InputError(
                "R4F was given no bounds on the head; pass what its extras(model) returned."
            )
        extras.enforce(model)
        return self.r3f.losses(model, extras, batch)


class SpectralBounds(nn.Module):
    """Keeps each weight of a model's head at a spectral norm of 1 or below."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        for number, weight in enumerate(head_weights(model)):
            # exact once, then followed
            right = torch.linalg.svd(weight.detach().float(), full_matrices=False).Vh
            self.register_buffer(f"direction_{number}", right[0].clone())
            self.register_buffer(f"seen_{number}", torch.full_like(weight, torch.nan))

    @torch.no_grad()
    def enforce(self, model: nn.Module) -> None:
        """Project the weights that have moved since they were last seen.

        Once for each step of the optimizer, then, however many batches it accumulates.
        """
        for number, weight in enumerate(head_weights(model)):
            direction, seen = (getattr(self, f"{name}_{number}") for name in ("direction", "seen"))
            if not torch.equal(weight, seen):
                weight.div_(_norm(weight.float(), direction).clamp_min(1.0))
                seen.copy_(weight)


def head_weights(model: nn.Module) -> list[Tensor]:
    """Return the weights of the linear maps outside the pre-trained part of the model."""
    base = {id(part) for part in plain(model).base_model.modules()}
    parts = (part for part in plain(model).modules() if id(part) not in base)
    found = [part.weight for part in parts if isinstance(part, nn.Linear)]
    if not found:
        raise InputError(
            f"{type(plain(model)).__name__} has no linear map outside its base model, and R4F "
            "bounds the classification head; use R3F."
        )
    return found


def _norm(weight: Tensor, direction: Tensor) -> Tensor:
    """Return the largest singular value by the power method; `direction` is moved in place."""
    for _ in range(_ITERATIONS):
        direction.copy_(functional.normalize(weight.T @ (weight @ direction), dim=0))
    norm: Tensor = torch.linalg.vector_norm(weight @ direction)
    return norm
