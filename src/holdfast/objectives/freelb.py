"""FreeLB (Zhu et al., ICLR 2020): adversarial training for the price of a few plain steps.

    min_theta  1/K sum_k CE(f(e + delta_k), y),    delta_{k+1} = P(delta_k + step * g_k / |g_k|)

g_k is the gradient in delta_k that the k-th backward pass computes along with the parameters', so
K passes take K steps up and train at every point of the path.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import Batch, L2Ball, LinfBall, look_up, run_on
from holdfast.errors import InputError
from holdfast.objectives.objective import Loss
from holdfast.objectives.replay import SameMasks, gradient_of


@dataclass(frozen=True)
class FreeLB:
    """Cross-entropy at every point of a short ascent, averaged.

    No settings for BERT-base were released with FreeLB; the defaults are those that CreAT's
    authors compared with (the FreeLB row of IM-BERT's Table 1).
    """

    steps: int = 2
    """Passes over the batch, K; the released fairseq code calls K - 1 by this name."""
    ball: L2Ball | LinfBall = L2Ball(radius=0.1, step_size=0.1, begin="zero")
    """Where the vectors may go. A random start as in the paper: `begin="uniform"`, its
    magnitude as `begin_scale` and `begin_shared=True`."""

    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"FreeLB has steps {self.steps}; expected 1 or more.")

    @property
    def passes(self) -> int:
        """One loss for each point of the path."""
        return self.steps

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the loss at each point; its backward pass tells where the next one is."""
        ids = batch["input_ids"]
        masks = SameMasks(ids.device)
        delta = self.ball.start(look_up(model, ids).detach(), batch)
        for step in range(self.steps):
            if step > 0:
                delta = self.ball.step(delta.detach(), gradient_of(delta), batch)
            delta = delta.detach().requires_grad_()
            vectors = self.ball.embed(delta, look_up(model, ids), batch)
            with masks.drawing():
                logits = run_on(model, batch, vectors).logits
            loss = functional.cross_entropy(logits.float(), batch["labels"])
            yield Loss(loss / self.steps, _parts(loss.detach(), step, self.steps))


def _parts(loss: Tensor, step: int, steps: int) -> dict[str, Tensor]:
    """Name the ends of the path: how far apart they are is what the adversary gained."""
    return {name: loss for name, at in (("first", 0), ("last", steps - 1)) if at == step}
